#include "rafter/report/results.h"

#include <ctime>

#include "rafter/base/json_value.h"
#include "rafter/report/build_info.h"

namespace rafter {

namespace {

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

template <typename T>
Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm fields{};
  ::gmtime_r(&now, &fields);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &fields)};
}

Json machine_json(const ResultsFile& file) {
  const DeviceInfo& machine = file.machine;
  Json json = {{"name", machine.name}, {"uuid_hash", machine.uuid_hash}};
  if (machine.id.kind == DeviceKind::cpu) {
    json["threads"] = file.cpu_threads;
  } else {
    json["driver"] = text_or_null(file.state.driver);
    json["cuda"] = text_or_null(machine.driver);
  }
  json["sm_clock_hz"] = known_or_null(file.state.sm_clock_hz);
  json["mem_clock_hz"] = known_or_null(file.state.memory_clock_hz);
  return json;
}

Json row_json(const ResultRow& row) {
  Json json = {{"op", row.op}, {"impl", row.impl}, {"dtype", row.dtype}};
  json["shape"] = Json::object();
  for (const auto& [axis, extent] : row.shape) json["shape"][axis] = extent;
  json["cache"] = text_or_null(row.cache);
  json["median_s"] = number_or_null(row.median_s);
  json["iqr_s"] = number_or_null(row.iqr_s);
  json["samples"] = row.samples;
  json["bytes"] = number_or_null(row.bytes);
  json["flops"] = number_or_null(row.flops);
  json["floor_s"] = value_or_null(row.floor_s);
  json["fraction"] = value_or_null(row.fraction);
  json["peer"] = text_or_null(row.peer);
  json["ratio"] = value_or_null(row.ratio);
  if (row.model.empty()) return json;
  json["model"] = row.model;
  json["executor"] = row.executor;
  json["batch"] = value_or_null(row.batch);
  json["context"] = value_or_null(row.context);
  json["tokens_per_s"] = value_or_null(row.tokens_per_s);
  json["tokens_per_s_sigma"] = value_or_null(row.tokens_per_s_sigma);
  return json;
}

}  // namespace

std::string results_json(const ResultsFile& file) {
  Json json = {{"schema", "rafter.results/1"}, {"machine", machine_json(file)}};
  json["commit"] = build_info().commit;
  json["dirty"] = build_info().dirty;
  json["command"] = file.command;
  json["date"] = utc_now();
  json["rows"] = Json::array();
  for (const ResultRow& row : file.rows) json["rows"].push_back(row_json(row));
  return to_text(json);
}

}  // namespace rafter
