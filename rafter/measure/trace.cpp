#include "rafter/measure/trace.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>

#include "rafter/base/error.h"
#include "rafter/base/statistics.h"
#include "rafter/base/units.h"
#include "rafter/measure/op_shape.h"
#include "rafter/measure/recorder.h"
#include "rafter/measure/workload.h"

namespace rafter {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kLaunches = 20;  // of one kind of op in a graph, at the least; and of decode steps between two events

constexpr double kFilled = 0.5;  // of the progress, for a guess: filling the cache

bool alike(const TracedOp& a, const TracedOp& b) { return a.name == b.name && a.shape == b.shape && a.kernel == b.kernel; }

std::optional<Floor> sum(const std::optional<Floor>& a, const std::optional<Floor>& b) {
  if (!a || !b) return {};
  return Floor{a->seconds + b->seconds, a->memory_seconds + b->memory_seconds, a->math_seconds + b->math_seconds};
}

// A program with its inputs in place, ready to be run by hand as often as one likes.
class Tracer {
 public:
  Tracer(Engine& engine, const TraceOptions& options, const MeasureProgress& progress)
      : engine_(engine), options_(options), progress_(progress), workload_(engine), program_(prepare()) {}

  StepTrace run() {
    trace_.options = options_;
    trace_.tokens = options_.prefill > 0 ? options_.prefill : engine_.options().batch;
    describe_ops();
    if (engine_.options().device.kind == DeviceKind::cuda) {
      run_on_gpu();
    } else {
      run_on_cpu();
    }
    for (int64_t sequence = 0; sequence < engine_.options().batch; ++sequence) engine_.truncate(sequence, 0);
    return std::move(trace_);
  }

 private:
  bool decodes() const { return options_.prefill == 0; }

  Program& prepare() {
    if (options_.prefill > engine_.options().chunk) {
      throw input_error({"the prefill to trace", fmt::format("{} tokens long", options_.prefill),
                         fmt::format("at most the chunk of {}", engine_.options().chunk), "raise --chunk"});
    }
    workload_.fill(options_.context, [&](double fraction) { tell(fraction * kFilled, "filling the cache"); });
    tell(filled(), "warming up");
    if (decodes()) {
      first_tokens_ = workload_.tokens(engine_.options().batch);
      engine_.reserve(trace_room(options_, engine_.options().device.kind));
      engine_.prepare_decode(true);
      return engine_.decode_program(true);
    }
    // Its inputs stay on the device, so that it can be run again.
    engine_.prefill(0, workload_.tokens(options_.prefill), LogitRows::last);
    return engine_.prefill_program(options_.prefill, LogitRows::last);
  }

  // A decode step moves its token and position on: this puts them back.
  void rewind() {
    if (decodes()) engine_.greedy_start(first_tokens_);
  }

  void describe_ops() {
    const CostContext context{options_.context};
    for (const Program::Step& step : program_.steps()) {
      const OpView view = step.view();
      TracedOp op;
      op.name = step.op->name;
      op.kind = step.op->kind;
      op.layer = step.op->layer;
      op.shape = shape_text(view, context);
      op.kernel = step.kernel->name;
      op.cost = rafter::cost(view, context);
      trace_.ops.push_back(std::move(op));
    }
  }

  void tell(double fraction, const std::string& what) const {
    if (progress_) progress_(fraction, what);
  }
  // The share of the work that was done when the cache is filled.
  double filled() const { return options_.context > 0 ? kFilled : 0; }
  void report(int64_t done, int64_t of, const std::string& what) const {
    tell(filled() + (1 - filled()) * static_cast<double>(done) / static_cast<double>(of), what);
  }

  void run_on_cpu() {
    std::vector<std::vector<double>> repeats;
    std::vector<double> step_samples;
    for (int64_t repeat = -1; repeat < options_.repeats; ++repeat) {  // the first one warms up
      const double whole = timed_step();
      const std::vector<double> each = timed_ops();
      if (repeat < 0) continue;
      step_samples.push_back(whole);
      repeats.push_back(each);
      report(repeat + 1, options_.repeats, "timing steps");
    }
    set_op_times(repeats);
    trace_.step_seconds = mean_of(step_samples, middle_half(step_samples));
    trace_.step_iqr = summarise(step_samples).iqr;
    trace_.method = fmt::format(
        "{}, each op timed in its place by the host's clock, in turn with {} without a clock in between. {}Caches are as the "
        "step leaves them.",
        counted(options_.repeats, "step"), counted(options_.repeats, "step"),
        options_.repeats > 1 ? "Both are means over the middle half of the steps by duration. " : "");
  }

  // From the middle half of the steps as a whole: medians of each op alone would not add up to a step where other
  // processes disturb now this op, now that one.
  void set_op_times(const std::vector<std::vector<double>>& repeats) {
    std::vector<double> totals;
    for (const auto& each : repeats) totals.push_back(std::accumulate(each.begin(), each.end(), 0.0));
    const std::vector<size_t> kept = middle_half(totals);
    for (size_t op = 0; op < trace_.ops.size(); ++op) {
      std::vector<double> samples;
      for (const auto& each : repeats) samples.push_back(each[op]);
      trace_.ops[op].seconds = mean_of(samples, kept);
      trace_.ops[op].iqr = summarise(samples).iqr;
    }
  }

  static double mean_of(const std::vector<double>& samples, const std::vector<size_t>& kept) {
    double sum = 0;
    for (const size_t i : kept) sum += samples[i];
    return sum / static_cast<double>(kept.size());
  }

  double timed_step() {
    rewind();
    const auto start = Clock::now();
    program_.run(engine_.stream());
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  std::vector<double> timed_ops() {
    rewind();
    std::vector<double> seconds;
    auto before = Clock::now();
    for (size_t op = 0; op < program_.steps().size(); ++op) {
      launch_op(op);
      const auto after = Clock::now();
      seconds.push_back(std::chrono::duration<double>(after - before).count());
      before = after;
    }
    return seconds;
  }

  void run_on_gpu() {
    for (const ExecutorKind executor : executors()) {
      const Statistics step = summarise(step_samples_on_gpu(executor));
      trace_.executors.push_back({executor, step.median, step.iqr});
    }
    trace_.step_seconds = trace_.executors.front().seconds;
    trace_.step_iqr = trace_.executors.front().iqr;
    tell(filled() + (1 - filled()) / 4, "recording steps");
    trace_.recorded = record();
    if (trace_.recorded.why_not.empty()) {
      take_recorded_times();
    } else {
      time_kinds_of_ops();
    }
    if (options_.counters) count();
  }

  // The engine's own first.
  std::vector<ExecutorKind> executors() const {
    if (!decodes()) return {ExecutorKind::eager};
    const bool graph = engine_.options().executor == ExecutorKind::graph;
    return graph ? std::vector{ExecutorKind::graph, ExecutorKind::eager}
                 : std::vector{ExecutorKind::eager, ExecutorKind::graph};
  }

  void take_recorded_times() {
    for (size_t i = 0; i < trace_.ops.size(); ++i) {
      const RecordedOp& recorded = trace_.recorded.ops[i];
      TracedOp& op = trace_.ops[i];
      op.seconds = recorded.own_seconds;
      op.iqr = recorded.iqr;
      op.gap_seconds = recorded.gap_seconds;
      op.hidden_seconds = recorded.hidden_seconds;
      op.launches = recorded.kernels;
    }
    trace_.method = fmt::format(
        "Times are of each op's kernels in their place, recorded by CUPTI over {} in a row and averaged over the middle half; "
        "a moment in which two kernels run is the earlier one's. The step is the median of {}, without the recorder.",
        counted(trace_.recorded.repeats, "step"), what_a_step_is());
  }

  std::string what_a_step_is() const {
    return replays() ? fmt::format("{} consecutive replays of the step's graph", kLaunches) : "whole steps launched one by one";
  }

  void time_kinds_of_ops() {
    const std::vector<std::vector<size_t>> groups = groups_of_ops();
    for (size_t g = 0; g < groups.size(); ++g) {
      const std::vector<double> samples = group_samples(groups[g]);
      for (const size_t op : groups[g]) set_time(trace_.ops[op], samples, launches(groups[g]));
      report(static_cast<int64_t>(g) + 1, static_cast<int64_t>(groups.size()), "timing ops");
    }
    trace_.method = fmt::format(
        "Times are medians over {} of a CUDA graph that launches one kind of op for every layer in turn, at least {} "
        "launches, by events around it; an op of one instance, or whose operands all fit in L2, finds them there. The step is "
        "the median of {}. Kernels were not recorded in their place: {}.",
        counted(options_.repeats, "run"), kLaunches, what_a_step_is(), trace_.recorded.why_not);
  }

  void launch_op(size_t op) {
    const Program::Step& step = program_.steps()[op];
    step.kernel->launch(step.view(), engine_.stream());
  }

  RecordedStep record() {
    const DeviceId device = engine_.options().device;
    Stream& stream = engine_.stream();
    GpuActivities tagged, repeats;
    RecordedStep nothing;
    prepare_run();
    nothing.why_not = record_gpu_tagged(device, tagged, [&](LaunchTags& tags) {
      for (size_t op = 0; op < program_.steps().size(); ++op) {
        tags.begin(op + 1);
        launch_op(op);
        tags.end();
      }
      stream.synchronize();
    });
    if (!nothing.why_not.empty()) return nothing;
    prepare_run();
    nothing.why_not = record_gpu(device, repeats, [&] {
      // Captured anew: the recorder tells a graph's kernels apart where it saw the graph being made.
      const std::unique_ptr<Graph> graph = replays() ? captured() : nullptr;
      for (int64_t i = 0; i < kLaunches; ++i) graph ? graph->launch(stream) : program_.run(stream);
      stream.synchronize();
    });
    return nothing.why_not.empty() ? join_step(tagged, repeats, trace_.ops.size()) : nothing;
  }

  // Inputs in place, and nothing under way that a recorder or a counter would see.
  void prepare_run() {
    rewind();
    engine_.stream().synchronize();
  }

  std::unique_ptr<Graph> captured() {
    Stream& stream = engine_.stream();
    stream.begin_capture();
    program_.run(stream);
    return stream.end_capture();
  }

  // Ops are counted in a step launched one by one; how many kernels each launches, the recording says.
  void count() {
    if (!trace_.recorded.why_not.empty()) {
      trace_.no_counters = "kernels could not be told apart: " + trace_.recorded.why_not;
      return;
    }
    int64_t kernels = 0;
    for (const TracedOp& op : trace_.ops) kernels += static_cast<int64_t>(op.launches.size());
    prepare_run();
    const CounterRun run =
        count_kernels(device(engine_.options().device), 2 * kernels + 16, [&] { program_.run(engine_.stream()); });
    trace_.no_counters = run.why_not;
    if (run.why_not.empty() && static_cast<int64_t>(run.kernels.size()) != kernels) {
      trace_.no_counters = fmt::format("{} kernels were counted where a step has {}", run.kernels.size(), kernels);
    }
    if (!trace_.no_counters.empty()) return;
    auto next = run.kernels.begin();
    for (TracedOp& op : trace_.ops) {
      const auto end = next + static_cast<std::ptrdiff_t>(op.launches.size());
      if (next != end) op.counters = together({next, end});
      next = end;
    }
  }

  bool replays() const { return decodes() && engine_.options().executor == ExecutorKind::graph; }

  // Op indices by kind of op, in the order of each kind's first.
  std::vector<std::vector<size_t>> groups_of_ops() const {
    std::vector<std::vector<size_t>> groups;
    for (size_t i = 0; i < trace_.ops.size(); ++i) {
      const auto same = [&](const std::vector<size_t>& group) { return alike(trace_.ops[group[0]], trace_.ops[i]); };
      const auto found = std::find_if(groups.begin(), groups.end(), same);
      if (found == groups.end()) {
        groups.push_back({i});
      } else {
        found->push_back(i);
      }
    }
    return groups;
  }

  static int64_t rounds(const std::vector<size_t>& group) {
    const auto size = static_cast<int64_t>(group.size());
    return (kLaunches + size - 1) / size;
  }
  static int64_t launches(const std::vector<size_t>& group) { return rounds(group) * static_cast<int64_t>(group.size()); }

  std::vector<double> group_samples(const std::vector<size_t>& group) {
    Stream& stream = engine_.stream();
    rewind();
    program_.run(stream);  // so that every operand is a step's own value
    rewind();
    stream.begin_capture();
    for (int64_t round = 0; round < rounds(group); ++round) {
      for (const size_t op : group) launch_op(op);
    }
    const std::unique_ptr<Graph> graph = stream.end_capture();
    return event_samples([] {}, [&] { graph->launch(stream); });
  }

  std::vector<double> step_samples_on_gpu(ExecutorKind executor) {
    Stream& stream = engine_.stream();
    const bool graph = executor == ExecutorKind::graph;
    const int64_t steps = decodes() ? kLaunches : 1;
    std::vector<double> samples = event_samples([&] { rewind(); },
                                                [&] {
                                                  for (int64_t i = 0; i < steps; ++i) {
                                                    graph ? program_.replay(stream) : program_.run(stream);
                                                  }
                                                });
    for (double& sample : samples) sample /= static_cast<double>(steps);
    return samples;
  }

  // Seconds between two events around `work`, for each repeat after one that warms up.
  template <typename Before, typename Work>
  std::vector<double> event_samples(const Before& before, const Work& work) {
    Stream& stream = engine_.stream();
    const std::unique_ptr<Event> start = stream.make_event(), end = stream.make_event();
    std::vector<double> samples;
    for (int64_t repeat = -1; repeat < options_.repeats; ++repeat) {
      before();
      stream.record(*start);
      work();
      stream.record(*end);
      end->wait();
      if (repeat >= 0) samples.push_back(end->seconds_since(*start));
    }
    return samples;
  }

  static void set_time(TracedOp& op, std::span<const double> samples, int64_t launches) {
    const Statistics s = summarise(samples);
    op.seconds = s.median / static_cast<double>(launches);
    op.iqr = s.iqr / static_cast<double>(launches);
  }

  Engine& engine_;
  const TraceOptions options_;
  const MeasureProgress& progress_;
  Workload workload_;
  std::vector<int32_t> first_tokens_;
  Program& program_;
  StepTrace trace_;
};

}  // namespace

double StepTrace::op_gap_seconds() const {
  double sum = 0;
  for (const TracedOp& op : ops) sum += op.gap_seconds;
  return sum;
}

double StepTrace::op_seconds() const {
  double sum = 0;
  for (const TracedOp& op : ops) sum += op.seconds;
  return sum;
}

std::optional<Floor> StepTrace::op_floor() const {
  std::optional<Floor> total = Floor();
  for (const TracedOp& op : ops) total = sum(total, op.floor);
  return total;
}

Cost StepTrace::cost() const {
  Cost total;
  for (const TracedOp& op : ops) total += op.cost;
  return total;
}

void add_floors(StepTrace& trace, const Machine& machine) {
  const Cost whole = trace.cost();
  const FloorContext context{.working_set_bytes = whole.bytes()};
  for (TracedOp& op : trace.ops) op.floor = floor(op.cost, machine, context);
  trace.floor = floor(whole, machine, context);
}

std::vector<TraceGroup> fold(const StepTrace& trace) {
  std::vector<TraceGroup> groups;
  for (const TracedOp& op : trace.ops) {
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const TraceGroup& g) { return alike(g.total, op); });
    if (found == groups.end()) {
      groups.push_back({op, 1});
      continue;
    }
    found->count += 1;
    found->total.cost += op.cost;
    found->total.seconds += op.seconds;
    found->total.iqr += op.iqr;
    found->total.gap_seconds += op.gap_seconds;
    found->total.hidden_seconds += op.hidden_seconds;
    if (found->total.counters && op.counters) {
      const std::array<KernelCounters, 2> both = {*found->total.counters, *op.counters};
      found->total.counters = together(both);
    } else {
      found->total.counters.reset();
    }
    found->total.floor = sum(found->total.floor, op.floor);
  }
  return groups;
}

int64_t trace_room(const TraceOptions& options, DeviceKind device) {
  if (options.prefill > 0) return options.prefill;
  return device == DeviceKind::cuda ? kLaunches : 1;
}

StepTrace trace_step(Engine& engine, const TraceOptions& options, const MeasureProgress& progress) {
  return Tracer(engine, options, progress).run();
}

}  // namespace rafter
