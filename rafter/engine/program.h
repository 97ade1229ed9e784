// A plan made ready to run on one device: kernels chosen, memory placed, operands bound. Running it allocates nothing,
// synchronises nothing and reads nothing back.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rafter/device/buffer.h"
#include "rafter/ops/plan.h"
#include "rafter/ops/registry.h"
#include "rafter/passes/memory.h"

namespace rafter {

// The tensor of a value that is not a temporary, by name; an Error where the name is unknown.
using Binder = std::function<Tensor(const Value& value)>;

class Program {
 public:
  Program(Plan plan, Device& device, const Binder& bind);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // What a program of this plan would ask of a device: its outputs, temporaries and scratch.
  static int64_t bytes_needed(const Plan& plan, DeviceId device);

  struct Step {
    const Op* op = nullptr;
    const Kernel* kernel = nullptr;
    std::vector<Tensor> inputs, outputs;
    void* workspace = nullptr;
    OpView view() const { return {op, inputs, outputs, workspace}; }
  };

  const Plan& plan() const { return plan_; }
  const std::vector<Step>& steps() const { return steps_; }
  const MemoryPlan& memory() const { return memory_; }
  // The tensor of an output, input or state by its name; of the last one where names repeat.
  const Tensor& tensor(const std::string& name) const;

  // Every op in order, eagerly.
  void run(Stream& stream) const;
  // The same, captured once and replayed; only where the device has graphs. The first replay captures where capture() has
  // not been called before.
  void capture(Stream& stream);
  void replay(Stream& stream);
  int graph_nodes() const { return graph_ ? graph_->nodes() : 0; }

 private:
  void place(Device& device);

  Plan plan_;
  std::vector<Tensor> tensors_;  // by ValueId
  std::vector<Step> steps_;
  MemoryPlan memory_;
  std::vector<Buffer> outputs_;
  Buffer arena_;
  std::unique_ptr<Graph> graph_;
};

}  // namespace rafter
