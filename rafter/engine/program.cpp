#include "rafter/engine/program.h"

#include "rafter/base/error.h"
#include "rafter/kernels/all.h"

namespace rafter {

namespace {

Program::Step step_of(const Op& op, const std::vector<Tensor>& tensors, DeviceKind device) {
  Program::Step step;
  step.op = &op;
  for (const ValueId id : op.inputs) step.inputs.push_back(id == kNone ? Tensor{} : tensors[static_cast<size_t>(id)]);
  for (const ValueId id : op.outputs) step.outputs.push_back(tensors[static_cast<size_t>(id)]);
  step.kernel = &registry().pick(step.view(), device);
  return step;
}

int64_t workspace_of(const Program::Step& step) {
  return step.kernel->workspace != nullptr ? step.kernel->workspace(step.view()) : 0;
}

}  // namespace

int64_t Program::bytes_needed(const Plan& plan, DeviceId device) {
  std::vector<Tensor> tensors;
  int64_t outputs = 0;
  for (const Value& value : plan.values()) {
    tensors.push_back(Tensor::contiguous(value.dtype, value.shape, nullptr, device));
    if (value.role == Role::output && value.view_of == kNone) outputs += tensors.back().bytes();
  }
  std::vector<int64_t> workspaces;
  for (const Op& op : plan.ops()) workspaces.push_back(workspace_of(step_of(op, tensors, device.kind)));
  return outputs + plan_memory(plan, workspaces).arena_bytes;
}

Program::Program(Plan plan, Device& device, const Binder& bind) : plan_(std::move(plan)) {
  for (const Value& value : plan_.values()) {
    Tensor tensor = Tensor::contiguous(value.dtype, value.shape, nullptr, device.id());
    if (value.role == Role::output && value.view_of == kNone) {
      outputs_.emplace_back(device, tensor.bytes());
      tensor.data = outputs_.back().data();
    } else if (value.role != Role::temporary && value.view_of == kNone) {
      tensor = bind(value);
      if (tensor.dtype != value.dtype || tensor.shape != value.shape) {
        throw runtime_failure({"the tensor bound to '" + value.name + "'",
                               fmt::format("{} {}", name(tensor.dtype), tensor.shape.to_string()),
                               fmt::format("{} {}", name(value.dtype), value.shape.to_string())});
      }
    }
    tensors_.push_back(tensor);
  }
  for (const Op& op : plan_.ops()) steps_.push_back(step_of(op, tensors_, device.id().kind));
  place(device);
}

void Program::place(Device& device) {
  std::vector<int64_t> workspaces;
  for (const Step& step : steps_) workspaces.push_back(workspace_of(step));
  memory_ = plan_memory(plan_, workspaces);
  arena_ = Buffer(device, memory_.arena_bytes);
  auto* base = static_cast<std::byte*>(arena_.data());
  for (size_t id = 0; id < tensors_.size(); ++id) {
    const Value& value = plan_.values()[id];
    if (value.view_of != kNone) {  // views come after what they view
      tensors_[id].data = tensors_[static_cast<size_t>(value.view_of)].row(value.first_row);
    } else if (memory_.offsets[id] >= 0) {
      tensors_[id].data = base + memory_.offsets[id];
    }
  }
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    for (size_t j = 0; j < step.inputs.size(); ++j) {
      if (step.op->inputs[j] != kNone) step.inputs[j].data = tensors_[static_cast<size_t>(step.op->inputs[j])].data;
    }
    for (size_t j = 0; j < step.outputs.size(); ++j)
      step.outputs[j].data = tensors_[static_cast<size_t>(step.op->outputs[j])].data;
    if (memory_.workspace_offsets[i] >= 0) step.workspace = base + memory_.workspace_offsets[i];
  }
}

const Tensor& Program::tensor(const std::string& name) const {
  for (size_t id = tensors_.size(); id-- > 0;) {
    if (plan_.values()[id].name == name) return tensors_[id];
  }
  throw input_error({"the plan's value '" + name + "'", "not there"});
}

void Program::run(Stream& stream) const {
  for (const Step& step : steps_) step.kernel->launch(step.view(), stream);
}

void Program::capture(Stream& stream) {
  if (graph_) return;
  stream.begin_capture();
  run(stream);
  graph_ = stream.end_capture();
}

void Program::replay(Stream& stream) {
  capture(stream);
  graph_->launch(stream);
}

}  // namespace rafter
