// One step of a model, op by op: what each op must move and compute, what it took, and how far their sum is from the step.
//
// On the CPU each op of a whole step is timed where it runs, and a step with no clock in it is run in turn with that. On
// a GPU the kernels of whole steps are recorded (recorder.h) and joined with the ops, so that an op's time is what it takes in
// its place, and the gaps between kernels are seen; the step's own time is taken without the recorder. Where nothing can be
// recorded, the launches of one kind of op, every layer's in turn, are captured in a graph of their own and timed together: an
// op is too short to be timed alone. Each layer brings its own weights, so that they come from memory as they do in a step
// unless all of them fit in the L2 cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rafter/engine/engine.h"
#include "rafter/machine/floor.h"
#include "rafter/measure/counters.h"
#include "rafter/measure/recording/step_join.h"
#include "rafter/measure/workload.h"
#include "rafter/ops/cost.h"

namespace rafter {

struct TraceOptions {
  int64_t context = 0;  // tokens in the cache when the step begins
  int64_t prefill = 0;  // trace a prefill of that many tokens; 0 traces a decode step
  int64_t repeats = 20;
  bool counters = false;  // read the hardware's counters of each op as well; on a GPU
};

struct TracedOp {
  std::string name;  // "ffn_down"
  OpKind kind = OpKind::embed;
  int layer = -1;
  std::string shape;   // shape_text()
  std::string kernel;  // the ladder step that ran: "02_split_k"
  Cost cost;
  double seconds = 0;  // a middle value; StepTrace::method says which
  double iqr = 0;
  std::vector<std::string> launches;       // names of the GPU's kernels, in order; empty where nothing was recorded
  double gap_seconds = 0;                  // before them, in which nothing ran
  double hidden_seconds = 0;               // of them, while an earlier kernel still ran: no part of `seconds`
  std::optional<KernelCounters> counters;  // of all its kernels together
  std::optional<Floor> floor;              // by add_floors()
};

// A whole step as one executor runs it.
struct ExecutorTime {
  ExecutorKind executor = ExecutorKind::eager;
  double seconds = 0, iqr = 0;
};

struct StepTrace {
  TraceOptions options;
  int64_t tokens = 1;  // that the step takes in
  std::vector<TracedOp> ops;
  double step_seconds = 0;  // a middle value of whole steps
  double step_iqr = 0;
  std::vector<ExecutorTime> executors;  // of all that can run it; the first is the engine's own, which the rest describes
  RecordedStep recorded;                // why_not says why it is empty
  std::string no_counters;              // why there are none, where they were asked for
  std::string method;                   // how times were taken, one or two sentences
  std::optional<Floor> floor;           // of the whole step's cost, by add_floors()

  double op_seconds() const;      // the sum over ops
  double op_gap_seconds() const;  // of the gaps before ops; 0 where nothing was recorded
  bool is_recorded() const { return !recorded.ops.empty(); }
  std::optional<Floor> op_floor() const;  // the sum over ops; nullopt where one of them has none
  Cost cost() const;
  double gap_seconds() const { return step_seconds - op_seconds(); }
};

// Ops of one name, shape and kernel as one: sums over `count` ops.
struct TraceGroup {
  TracedOp total;
  int64_t count = 0;
};
std::vector<TraceGroup> fold(const StepTrace& trace);

// Lays every op, and the step, against the machine's roofs. An op streams as a part of the step: its roof is that of the step's
// bytes, cold. Floors of ops add up to more than the step's own where some are bound by memory and others by maths, since a
// perfect step would do both at once.
void add_floors(StepTrace& trace, const Machine& machine);

// Which kind of op to work on first: the greatest gain first. Those without a floor are not among them.
struct Gain {
  TraceGroup group;
  double seconds = 0;  // a step would save, did the op run at its roof
  std::string why;     // what keeps it from there: "28 launches of 2.3 us, about what a launch costs"
};
std::vector<Gain> which_first(const StepTrace& trace);

// Tokens of context that a trace needs beyond options.context: a decode step is run several times in a row on a GPU.
int64_t trace_room(const TraceOptions& options, DeviceKind device);

// Leaves the engine's sequences empty. An input Error where the context has no room for the step, or a prefill is longer
// than one chunk.
StepTrace trace_step(Engine& engine, const TraceOptions& options, const MeasureProgress& progress = {});

}  // namespace rafter
