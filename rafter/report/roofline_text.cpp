// A Roofline as a table for people and as a document.
#include <fmt/format.h>

#include <algorithm>

#include "rafter/base/json_value.h"
#include "rafter/base/units.h"
#include "rafter/report/roofline.h"
#include "rafter/report/table.h"

namespace rafter {

namespace {

constexpr size_t kNameWidth = 48;

std::string shortened(const std::string& text, size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

template <typename Format>
std::string cell(const Quantity& value, const Format& format) {
  return value ? format(*value) : "-";
}

std::string percent(double fraction) { return fmt::format("{:.1f}%", 100 * fraction); }

// "DRAM 4.55 TB/s, L2 8.91 TB/s; fp32 65.7 TFLOP/s, bf16 935 TFLOP/s"
std::string roofs_line(const KernelRoofs& roofs) {
  std::string text;
  const auto add = [&](const std::string& name, const Quantity& value, const char* unit) {
    if (value) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, format_rate(*value, unit));
  };
  add("DRAM", roofs.dram_bytes_per_second, "B");
  add("L2", roofs.l2_bytes_per_second, "B");
  add("fp32", roofs.fp32_flops_per_second, "FLOP");
  add("fp64", roofs.fp64_flops_per_second, "FLOP");
  for (const auto& [dtype, rate] : roofs.tensor_flops_per_second) add(dtype, rate, "FLOP");
  return text;
}

std::string heading(const Roofline& r) {
  std::string text = fmt::format("{}: {}", r.profile.path, name(r.profile.kind));
  if (!r.profile.device.empty()) text += " on " + r.profile.device;
  if (r.profile.rank) text += fmt::format(", rank {} of {}", *r.profile.rank, r.profile.world_size.value_or(0));
  text += fmt::format(": {}, {} of GPU time\n", counted(static_cast<int64_t>(r.kernels.size()), "kernel"),
                      format_seconds(r.seconds));
  if (!r.machine) return text + "no measured roofs: each profiler's own percentages are all there is to judge by\n";
  return text + fmt::format("roofs of {}: {}\n", r.machine->device.name, roofs_line(kernel_roofs(*r.machine)));
}

std::vector<std::string> cells_of(const PlacedKernel& k) {
  return {shortened(label(k.kernel), kNameWidth),
          std::to_string(k.kernel.launches),
          cell(k.kernel.seconds, format_seconds),
          cell(k.share, percent),
          cell(k.bytes_per_second, [](double v) { return format_rate(v, "B"); }),
          cell(k.flops_per_second, [](double v) { return v > 0 ? format_rate(v, "FLOP") : std::string("-"); }),
          cell(k.intensity, [](double v) { return v < 999.5 ? fmt::format("{:.3g}", v) : fmt::format("{:.0f}", v); }),
          cell(k.bottleneck.fraction, percent),
          cell(k.gain_seconds, format_seconds),
          name(k.bottleneck.limit)};
}

// One line, with the shapes that tell launches of one kernel apart, and for the unknown the metrics that would tell.
std::string evidence_line(const PlacedKernel& k, ProfileKind kind) {
  const std::string shapes = k.kernel.shapes.empty() ? "" : " of " + k.kernel.shapes;
  std::string line = fmt::format("  {}{}: {}", shortened(label(k.kernel), kNameWidth), shapes, k.bottleneck.evidence);
  if (kind == ProfileKind::ncu_csv && !k.bottleneck.would_tell.empty()) {
    line += fmt::format("; {} would tell", fmt::join(k.bottleneck.would_tell, ", "));
  }
  return line + '\n';
}

Json quantity(const Quantity& value) { return value ? number_or_null(*value) : Json(nullptr); }

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json kernel_json(const PlacedKernel& k) {
  Json json = {{"name", k.kernel.name}, {"short_name", k.kernel.short_name}, {"op", text_or_null(k.kernel.op)}};
  json["shapes"] = text_or_null(k.kernel.shapes);
  json["dtype"] = text_or_null(k.kernel.dtype);
  json["launches"] = k.kernel.launches;
  json["time_s"] = quantity(k.kernel.seconds);
  json["share"] = quantity(k.share);
  json["bytes"] = quantity(k.bytes);
  json["bytes_measured"] = k.measured_bytes;
  json["flops"] = quantity(k.flops);
  json["flops_measured"] = k.measured_flops;
  json["intensity"] = quantity(k.intensity);
  json["bytes_per_s"] = quantity(k.bytes_per_second);
  json["flops_per_s"] = quantity(k.flops_per_second);
  json["limit"] = name(k.bottleneck.limit);
  json["evidence"] = k.bottleneck.evidence;
  json["roof"] = text_or_null(k.bottleneck.roof);
  json["fraction"] = quantity(k.bottleneck.fraction);
  json["gain_s"] = quantity(k.gain_seconds);
  json["would_tell"] = k.bottleneck.would_tell;
  return json;
}

}  // namespace

std::string roofline_text(const Roofline& r, size_t most) {
  const size_t shown = most == 0 ? r.kernels.size() : std::min(most, r.kernels.size());
  Table table({{"kernel"},
               {"launches", Align::right},
               {"time", Align::right},
               {"share", Align::right},
               {"memory", Align::right},
               {"math", Align::right},
               {"FLOP/B", Align::right},
               {"of roof", Align::right},
               {"gain", Align::right},
               {"limited by"}});
  std::string evidence;
  for (size_t i = 0; i < shown; ++i) {
    table.add(cells_of(r.kernels[i]));
    evidence += evidence_line(r.kernels[i], r.profile.kind);
  }
  std::string text = heading(r);
  if (by_needs_alone(r)) text += "memory and math are what the maths needs: the file has no counters\n";
  text += fmt::format("\n{}\n{}", table.text(), evidence);
  if (shown < r.kernels.size())
    text += fmt::format("\n{} more: --top 0 shows all\n", counted(static_cast<int64_t>(r.kernels.size() - shown), "kernel"));
  if (r.profile.copies.count + r.profile.fills.count > 0) {
    text +=
        fmt::format("\nbeside them: {} copies ({}) and {} fills ({})\n", r.profile.copies.count,
                    format_seconds(r.profile.copies.seconds), r.profile.fills.count, format_seconds(r.profile.fills.seconds));
  }
  return text;
}

std::string roofline_json(const Roofline& r) {
  Json json = {{"schema", "rafter.roofline/1"}, {"source", r.profile.path}, {"kind", name(r.profile.kind)}};
  json["device"] = text_or_null(r.profile.device);
  json["rank"] = r.profile.rank ? Json(*r.profile.rank) : Json(nullptr);
  json["machine"] = r.machine ? Json{{"name", r.machine->device.name},
                                     {"uuid_hash", r.machine->device.uuid_hash},
                                     {"date", text_or_null(r.machine->date)}}
                              : Json(nullptr);
  const KernelRoofs roofs = r.machine ? kernel_roofs(*r.machine) : KernelRoofs{};
  json["roofs"] = {{"dram_bytes_per_s", quantity(roofs.dram_bytes_per_second)},
                   {"l2_bytes_per_s", quantity(roofs.l2_bytes_per_second)},
                   {"fp32_flops_per_s", quantity(roofs.fp32_flops_per_second)},
                   {"fp64_flops_per_s", quantity(roofs.fp64_flops_per_second)}};
  for (const auto& [dtype, rate] : roofs.tensor_flops_per_second) json["roofs"]["tensor_" + dtype + "_flops_per_s"] = rate;
  json["time_s"] = number_or_null(r.seconds);
  json["kernels"] = Json::array();
  for (const PlacedKernel& kernel : r.kernels) json["kernels"].push_back(kernel_json(kernel));
  json["remarks"] = r.profile.remarks;
  return to_text(json);
}

}  // namespace rafter
