#include "rafter/report/trace_report.h"

#include <fmt/format.h>

#include "rafter/base/json_value.h"
#include "rafter/base/units.h"
#include "rafter/report/build_info.h"
#include "rafter/report/table.h"

namespace rafter {

namespace {

std::string per_second(double amount, double seconds, double scale) {
  return seconds > 0 ? fmt::format("{:.1f}", amount / seconds / scale) : "-";
}

std::string share(double part, double whole) { return whole > 0 ? fmt::format("{:.1f}%", 100 * part / whole) : "-"; }

std::string of_roof(const std::optional<Floor>& floor, double seconds) {
  const auto fraction = floor ? floor->fraction_of(seconds) : std::nullopt;
  return fraction ? fmt::format("{:.1f}", 100 * *fraction) : "-";
}

std::vector<std::string> numbers(const Cost& cost, const std::optional<Floor>& floor, double seconds, double step_seconds) {
  return {format_bytes(cost.bytes()),   cost.flops() > 0 ? format_si(cost.flops(), "FLOP") : "-",
          format_seconds(seconds),      per_second(cost.bytes(), seconds, 1e9),
          share(seconds, step_seconds), floor ? format_seconds(floor->seconds) : "-",
          of_roof(floor, seconds)};
}

std::string layer_text(int layer) { return layer < 0 ? "-" : std::to_string(layer); }

void add_op(Table& table, const TracedOp& op, const std::string& layer, double step_seconds) {
  std::vector<std::string> cells = {op.name, layer, op.shape};
  for (std::string& cell : numbers(op.cost, op.floor, op.seconds, step_seconds)) cells.push_back(std::move(cell));
  cells.push_back(op.kernel);
  table.add(std::move(cells));
}

void add_line(Table& table, const char* title, const Cost& cost, const std::optional<Floor>& floor, double seconds,
              double step_seconds) {
  std::vector<std::string> cells = {title, "", ""};
  for (std::string& cell : numbers(cost, floor, seconds, step_seconds)) cells.push_back(std::move(cell));
  table.add(std::move(cells));
}

std::string what(const StepTrace& trace) {
  const std::string step = trace.options.prefill > 0 ? "prefill of " + counted(trace.options.prefill, "token")
                           : trace.tokens == 1       ? "one decode step"
                                                     : fmt::format("one decode step of {} sequences", trace.tokens);
  return fmt::format("{} at a context of {}", step, counted(trace.options.context, "token"));
}

}  // namespace

std::string trace_text(const Engine& engine, const StepTrace& trace, bool layers) {
  Table table({{"op"},
               {layers ? "layer" : "layers", Align::right},
               {"shape"},
               {"bytes", Align::right},
               {"FLOPs", Align::right},
               {"time", Align::right},
               {"GB/s", Align::right},
               {"share", Align::right},
               {"floor", Align::right},
               {"% of roof", Align::right},
               {"kernel"}});
  if (layers) {
    for (const TracedOp& op : trace.ops) add_op(table, op, layer_text(op.layer), trace.step_seconds);
  } else {
    for (const TraceGroup& group : fold(trace)) {
      add_op(table, group.total, group.total.layer < 0 ? "-" : fmt::format("x{}", group.count), trace.step_seconds);
    }
  }
  const Cost total = trace.cost();
  add_line(table, "sum of the ops", total, trace.op_floor(), trace.op_seconds(), trace.step_seconds);
  add_line(table, "the step as a whole", total, trace.floor, trace.step_seconds, trace.step_seconds);
  const bool overlap = trace.gap_seconds() < 0 && engine.options().device.kind == DeviceKind::cuda;
  const std::string spread = trace.options.repeats > 1 ? fmt::format(" (IQR {})", format_seconds(trace.step_iqr)) : "";
  const double rate = trace.step_seconds > 0 ? static_cast<double>(trace.tokens) / trace.step_seconds : 0;
  return fmt::format("{} {} on {}: {}\n\n{}\nThe step takes {}{}: {:.1f} tokens/s. Step less sum: {} ({}){}\n{}\n",
                     engine.config().name, name(engine.checkpoint().dtype()), to_string(engine.options().device), what(trace),
                     table.text(), format_seconds(trace.step_seconds), spread, rate, format_seconds(trace.gap_seconds()),
                     share(trace.gap_seconds(), trace.step_seconds), overlap ? ": ops overlap in the step." : ".",
                     trace.method);
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
  json["executor"] = engine.options().executor == ExecutorKind::graph ? "graph" : "eager";
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
  }
  return to_text(json);
}

}  // namespace rafter
