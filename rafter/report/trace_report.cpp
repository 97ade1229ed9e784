#include "rafter/report/trace_report.h"

#include <fmt/format.h>

#include "rafter/base/json_value.h"
#include "rafter/base/units.h"
#include "rafter/measure/trace_parts.h"
#include "rafter/report/build_info.h"
#include "rafter/report/table.h"
#include "rafter/report/waterfall_report.h"

namespace rafter {

namespace {

constexpr double kLeastGain = 0.002;  // of the step: what is less is left out of the text

std::string per_second(double amount, double seconds, double scale) {
  return seconds > 0 ? fmt::format("{:.1f}", amount / seconds / scale) : "-";
}

std::string of_roof(const std::optional<Floor>& floor, double seconds) {
  const auto fraction = floor ? floor->fraction_of(seconds) : std::nullopt;
  return fraction ? fmt::format("{:.1f}", 100 * *fraction) : "-";
}

// A row's numbers.
struct Numbers {
  const Cost& cost;
  const std::optional<Floor>& floor;
  double seconds = 0, gap_seconds = 0;
};

class OpTable {
 public:
  OpTable(const StepTrace& trace, bool layers) : trace_(trace), table_(columns(trace, layers)) {}

  void add(const std::string& name, const std::string& layer, const std::string& shape, const Numbers& n,
           const std::string& kernel = {}) {
    std::vector<std::string> cells = {name,
                                      layer,
                                      shape,
                                      format_bytes(n.cost.bytes()),
                                      n.cost.flops() > 0 ? format_si(n.cost.flops(), "FLOP") : "-",
                                      format_seconds(n.seconds),
                                      per_second(n.cost.bytes(), n.seconds, 1e9),
                                      format_share(n.seconds, trace_.step_seconds)};
    if (trace_.is_recorded()) cells.push_back(format_seconds(n.gap_seconds));
    cells.push_back(n.floor ? format_seconds(n.floor->seconds) : "-");
    cells.push_back(of_roof(n.floor, n.seconds));
    cells.push_back(kernel);
    table_.add(std::move(cells));
  }
  void add(const TracedOp& op, const std::string& layer) {
    add(op.name, layer, op.shape, {op.cost, op.floor, op.seconds, op.gap_seconds}, op.kernel);
  }
  std::string text() const { return table_.text(); }

 private:
  static std::vector<Column> columns(const StepTrace& trace, bool layers) {
    std::vector<Column> columns = {{"op"},
                                   {layers ? "layer" : "layers", Align::right},
                                   {"shape"},
                                   {"bytes", Align::right},
                                   {"FLOPs", Align::right},
                                   {"time", Align::right},
                                   {"GB/s", Align::right},
                                   {"share", Align::right}};
    if (trace.is_recorded()) columns.push_back({"gap before", Align::right});
    columns.push_back({"floor", Align::right});
    columns.push_back({"% of roof", Align::right});
    columns.push_back({"kernel"});
    return columns;
  }

  const StepTrace& trace_;
  Table table_;
};

std::string percent(const std::optional<double>& value) { return value ? fmt::format("{:.0f}%", *value) : "-"; }
std::string bytes(const std::optional<double>& value) { return value ? format_bytes(*value) : "-"; }

// What the hardware counted, beside what the op must move.
std::string counters_text(const StepTrace& trace) {
  Table table({{"op"},
               {"modelled", Align::right},
               {"DRAM read", Align::right},
               {"DRAM written", Align::right},
               {"of modelled", Align::right},
               {"L2", Align::right},
               {"tensor pipe", Align::right},
               {"occupancy", Align::right}});
  for (const TraceGroup& group : fold(trace)) {
    const TracedOp& op = group.total;
    if (!op.counters) continue;
    const KernelCounters& c = *op.counters;
    const auto dram = c.dram_bytes();
    table.add({op.name, format_bytes(op.cost.bytes()), bytes(c.dram_bytes_read), bytes(c.dram_bytes_written),
               dram && op.cost.bytes() > 0 ? fmt::format("{:.2f}", *dram / op.cost.bytes()) : "-", bytes(c.l2_bytes),
               percent(c.tensor_percent), percent(c.occupancy_percent)});
  }
  return "\nCounted by the hardware, kernel by kernel with the caches as the one before left them:\n\n" + table.text();
}

std::string counters_or_why(const StepTrace& trace) {
  return trace.no_counters.empty() ? counters_text(trace) : "\nNo counters: " + trace.no_counters + ".\n";
}

std::string executors_text(const StepTrace& trace) {
  std::string text;
  for (const ExecutorTime& time : trace.executors) {
    text += fmt::format("{}{} {} (IQR {})", text.empty() ? "Through each executor: " : ", ", name(time.executor),
                        format_seconds(time.seconds), format_seconds(time.iqr));
  }
  return text.empty() ? text : text + ".\n";
}

std::string layer_text(int layer) { return layer < 0 ? "-" : std::to_string(layer); }

// Of ops that were not recorded in their place: how far they are from the step. Recorded ones leave nothing: their gaps are
// told.
std::string remainder_text(const StepTrace& trace) {
  if (trace.is_recorded()) return {};
  const bool overlap = trace.gap_seconds() < 0 && !trace.executors.empty();
  return fmt::format(" Step less sum: {} ({}){}", format_seconds(trace.gap_seconds()),
                     format_share(trace.gap_seconds(), trace.step_seconds), overlap ? ": ops overlap in the step." : ".");
}

// The sum that explains the step, and where to begin.
std::string explained_text(const StepTrace& trace) {
  if (!trace.floor) return {};
  std::string text = "\n" + waterfall_text(step_waterfall(trace));
  Table table({{"which first"}, {"would gain", Align::right}, {"of the step", Align::right}, {"because"}});
  for (const Gain& gain : which_first(trace)) {
    if (gain.seconds < kLeastGain * trace.step_seconds) continue;
    table.add({gain.group.total.name, format_seconds(gain.seconds), format_share(gain.seconds, trace.step_seconds), gain.why});
  }
  return text + "\n" + table.text();
}

std::string what(const StepTrace& trace) {
  const std::string step = trace.options.prefill > 0 ? "prefill of " + counted(trace.options.prefill, "token")
                           : trace.tokens == 1       ? "one decode step"
                                                     : fmt::format("one decode step of {} sequences", trace.tokens);
  return fmt::format("{} at a context of {}", step, counted(trace.options.context, "token"));
}

Json recorded_json(const StepTrace& trace) {
  if (!trace.is_recorded()) return nullptr;
  return {{"steps", trace.recorded.repeats},
          {"time_s", number_or_null(trace.recorded.seconds)},
          {"iqr_s", number_or_null(trace.recorded.iqr)},
          {"ops_s", number_or_null(trace.op_seconds())},
          {"gaps_s", number_or_null(trace.op_gap_seconds())},
          {"between_s", number_or_null(trace.recorded.between_seconds)}};
}

void add_recorded(Json& json, const TracedOp& op) {
  json["gap_s"] = number_or_null(op.gap_seconds);
  json["hidden_s"] = number_or_null(op.hidden_seconds);
  json["launches"] = op.launches;
}

Json counters_json(const KernelCounters& c) {
  const auto number = [](const std::optional<double>& value) { return value ? number_or_null(*value) : Json(nullptr); };
  return {{"time_s", number(c.seconds)},
          {"dram_bytes_read", number(c.dram_bytes_read)},
          {"dram_bytes_written", number(c.dram_bytes_written)},
          {"l2_bytes", number(c.l2_bytes)},
          {"l2_fabric_bytes", number(c.l2_fabric_bytes)},
          {"l1_bytes", number(c.l1_bytes)},
          {"tensor_percent", number(c.tensor_percent)},
          {"occupancy_percent", number(c.occupancy_percent)},
          {"active_percent", number(c.active_percent)},
          {"local_loads", number(c.local_loads)}};
}

}  // namespace

std::string trace_text(const Engine& engine, const StepTrace& trace, bool layers) {
  OpTable table(trace, layers);
  if (layers) {
    for (const TracedOp& op : trace.ops) table.add(op, layer_text(op.layer));
  } else {
    for (const TraceGroup& group : fold(trace)) {
      table.add(group.total, group.total.layer < 0 ? "-" : fmt::format("x{}", group.count));
    }
  }
  const Cost total = trace.cost();
  table.add("sum of the ops", "", "", {total, trace.op_floor(), trace.op_seconds(), trace.op_gap_seconds()});
  table.add("the step as a whole", "", "", {total, trace.floor, trace.step_seconds});
  const std::string spread = trace.options.repeats > 1 ? fmt::format(" (IQR {})", format_seconds(trace.step_iqr)) : "";
  const double rate = trace.step_seconds > 0 ? static_cast<double>(trace.tokens) / trace.step_seconds : 0;
  return fmt::format("{} {} on {}: {}\n\n{}\nThe step takes {}{}: {:.1f} tokens/s.{}\n{}{}\n", engine.config().name,
                     name(engine.checkpoint().dtype()), to_string(engine.options().device), what(trace), table.text(),
                     format_seconds(trace.step_seconds), spread, rate, remainder_text(trace), executors_text(trace),
                     trace.method) +
         (trace.options.counters ? counters_or_why(trace) : std::string()) + explained_text(trace);
}

std::string trace_json(const Engine& engine, const StepTrace& trace, const std::string& command) {
  const auto add_floor = [](Json& json, const std::optional<Floor>& floor, double seconds) {
    const auto fraction = floor ? floor->fraction_of(seconds) : std::nullopt;
    json["floor_s"] = floor ? number_or_null(floor->seconds) : Json(nullptr);
    json["fraction"] = fraction ? number_or_null(*fraction) : Json(nullptr);
    json["limit"] = floor ? Json(name(floor->limit())) : Json(nullptr);
  };
  Json json = {{"schema", "rafter.trace/1"}, {"model", engine.config().name}, {"dtype", name(engine.checkpoint().dtype())}};
  json["device"] = to_string(engine.options().device);
  const DeviceInfo machine = device(engine.options().device).info();
  json["machine"] = {{"name", machine.name}, {"uuid_hash", machine.uuid_hash}};
  json["executor"] = name(engine.options().executor);
  json["commit"] = build_info().commit;
  json["dirty"] = build_info().dirty;
  json["command"] = command;
  json["step"] = {{"kind", trace.options.prefill > 0 ? "prefill" : "decode"},
                  {"tokens", trace.tokens},
                  {"context", trace.options.context},
                  {"samples", trace.options.repeats},
                  {"time_s", number_or_null(trace.step_seconds)},
                  {"iqr_s", number_or_null(trace.step_iqr)},
                  {"ops_s", number_or_null(trace.op_seconds())},
                  {"gap_s", number_or_null(trace.gap_seconds())},
                  {"bytes", trace.cost().bytes()},
                  {"flops", trace.cost().flops()}};
  add_floor(json["step"], trace.floor, trace.step_seconds);
  json["executors"] = Json::array();
  for (const ExecutorTime& time : trace.executors) {
    json["executors"].push_back(
        {{"executor", name(time.executor)}, {"time_s", number_or_null(time.seconds)}, {"iqr_s", number_or_null(time.iqr)}});
  }
  json["recorded"] = recorded_json(trace);
  json["no_counters"] = trace.options.counters && !trace.no_counters.empty() ? Json(trace.no_counters) : Json(nullptr);
  json["waterfall"] = trace.floor ? waterfall_json(step_waterfall(trace)) : Json(nullptr);
  json["which_first"] = Json::array();
  for (const Gain& gain : which_first(trace)) {
    json["which_first"].push_back(
        {{"name", gain.group.total.name}, {"gain_s", number_or_null(gain.seconds)}, {"why", gain.why}});
  }
  json["method"] = trace.method;
  json["ops"] = Json::array();
  for (const TracedOp& op : trace.ops) {
    json["ops"].push_back({{"name", op.name},
                           {"kind", name(op.kind)},
                           {"layer", op.layer < 0 ? Json(nullptr) : Json(op.layer)},
                           {"shape", op.shape},
                           {"kernel", op.kernel},
                           {"bytes_read", op.cost.bytes_read},
                           {"bytes_written", op.cost.bytes_written},
                           {"flops", op.cost.flops()},
                           {"time_s", number_or_null(op.seconds)},
                           {"iqr_s", number_or_null(op.iqr)}});
    add_floor(json["ops"].back(), op.floor, op.seconds);
    if (trace.is_recorded()) add_recorded(json["ops"].back(), op);
    if (op.counters) json["ops"].back()["counters"] = counters_json(*op.counters);
  }
  return to_text(json);
}

}  // namespace rafter
