// A Machine as a document, and back.
#include <algorithm>
#include <cmath>

#include "rafter/base/error.h"
#include "rafter/base/json_value.h"
#include "rafter/machine/machine.h"

namespace rafter {

namespace {

constexpr std::string_view kSchema = "rafter.machine/1";

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json figure_json(const Figure& f) {
  Json json = {{"name", f.name}};
  json["at"] = Json::object();
  for (const auto& [axis, value] : f.at) json["at"][axis] = number_or_null(value);
  json["state"] = text_or_null(f.state);
  json["unit"] = f.unit;
  json["median"] = number_or_null(f.value.median);
  json["iqr"] = number_or_null(f.value.iqr);
  json["samples"] = f.value.samples;
  json["throttled"] = f.value.throttled;
  json["clock_hz"] = known_or_null(f.value.clock_hz);
  json["series"] = name(f.value.series);
  json["remark"] = text_or_null(f.remark);
  return json;
}

// Reads one object; a field that is missing or of another type is named with the path that leads to it.
class Reader {
 public:
  Reader(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json.is_object()) throw input_error({path_, json.type_name(), "an object"});
  }
  std::string text(const char* field) const {
    const Json* value = find(field);
    return value == nullptr ? std::string() : expect<std::string>(*value, field, value->is_string(), "a string or null");
  }
  double number(const char* field) const {
    const Json* value = find(field);
    return value == nullptr ? 0 : expect<double>(*value, field, value->is_number(), "a number or null");
  }
  int64_t count(const char* field) const {
    const double value = number(field);
    const bool whole = value >= 0 && value <= 9007199254740992.0 && value == std::floor(value);
    if (!whole) throw input_error({path_ + "." + field, fmt::format("{}", value), "a whole number, 0 or more"});
    return static_cast<int64_t>(value);
  }
  bool flag(const char* field) const {
    const Json* value = find(field);
    return value != nullptr && expect<bool>(*value, field, value->is_boolean(), "true, false or null");
  }
  const Json& child(const char* field, bool array) const {
    const Json* value = find(field);
    if (value == nullptr || (array ? !value->is_array() : !value->is_object())) {
      throw input_error(
          {path_ + "." + field, value == nullptr ? "missing" : value->type_name(), array ? "an array" : "an object"});
    }
    return *value;
  }

 private:
  const Json* find(const char* field) const {
    const auto found = json_.find(field);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  template <typename T>
  T expect(const Json& value, const char* field, bool holds, const char* expected) const {
    if (!holds) throw input_error({path_ + "." + field, value.type_name(), expected});
    return value.get<T>();
  }
  const Json& json_;
  std::string path_;
};

Figure read_figure(const Json& json, const std::string& path) {
  const Reader in(json, path);
  Figure f;
  f.name = in.text("name");
  if (f.name.empty()) throw input_error({path + ".name", "missing", "the figure's name"});
  for (const char* needed : {"unit", "median"}) {
    if (!json.contains(needed)) throw input_error({path + "." + needed, "missing", "the figure's " + std::string(needed)});
  }
  for (const auto& [axis, value] : in.child("at", false).items()) {
    if (!value.is_number()) throw input_error({path + ".at." + axis, value.type_name(), "a number"});
    f.at.emplace_back(axis, value.get<double>());
  }
  f.state = in.text("state");
  f.unit = in.text("unit");
  f.value = {in.number("median"),   in.number("iqr"),      in.count("samples"),
             in.count("throttled"), in.number("clock_hz"), series_named(in.text("series"))};
  f.remark = in.text("remark");
  return f;
}

constexpr int kDeepest = 6;  // of a machine file's own nesting; a deeper one is another's, or an attack on memory

Json parse(std::string_view text, const std::string& source) {
  const auto check_depth = [&](int depth, Json::parse_event_t, Json&) {
    if (depth <= kDeepest) return true;
    throw input_error({source, "nested too deep", "a machine file (rafter.machine/1)", "`rafter probe` writes one"});
  };
  try {
    return Json::parse(text, check_depth);
  } catch (const Json::out_of_range&) {
    throw input_error(
        {source, "not JSON: a number in it is too large", "a machine file (rafter.machine/1)", "`rafter probe` writes one"});
  } catch (const Json::parse_error& error) {
    const auto before = text.substr(0, std::min(text.size(), error.byte == 0 ? 0 : error.byte - 1));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const size_t newline = before.rfind('\n');
    const size_t column = before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
    throw input_error({fmt::format("{}: line {}, column {}", source, line, column), "not JSON",
                       "a machine file (rafter.machine/1)", "`rafter probe` writes one"});
  }
}

}  // namespace

std::string machine_json(const Machine& machine) {
  const DeviceInfo& d = machine.device;
  Json json = {{"schema", kSchema}};
  Json& m = json["machine"] = {{"name", d.name}, {"uuid_hash", d.uuid_hash}};
  m["device"] = d.id.kind == DeviceKind::cpu ? "cpu" : "cuda";
  m["driver"] = text_or_null(machine.driver);
  m["cuda"] = text_or_null(d.driver);
  m["compute_capability"] = d.compute_major > 0 ? Json(fmt::format("{}.{}", d.compute_major, d.compute_minor)) : Json(nullptr);
  m["multiprocessors"] = d.multiprocessors;
  m["memory_bytes"] = d.memory_bytes;
  m["l2_bytes"] = d.l2_bytes;
  m["max_sm_clock_hz"] = known_or_null(d.clock_hz);
  m["max_mem_clock_hz"] = known_or_null(d.memory_clock_hz);
  m["threads"] = machine.threads > 0 ? Json(machine.threads) : Json(nullptr);
  json["commit"] = text_or_null(machine.commit);
  json["command"] = text_or_null(machine.command);
  json["date"] = text_or_null(machine.date);
  json["quick"] = machine.quick;
  json["probe_seconds"] = number_or_null(machine.probe_seconds);
  json["figures"] = Json::array();
  for (const Figure& f : machine.figures) json["figures"].push_back(figure_json(f));
  return to_text(json);
}

Machine read_machine(std::string_view text, const std::string& source) {
  const Json json = parse(text, source);
  const Reader in(json, source);
  if (in.text("schema") != kSchema) {
    throw input_error({source + ".schema", in.text("schema").empty() ? "missing" : in_quotes(in.text("schema"), 60),
                       fmt::format("'{}'", kSchema), "`rafter probe` writes such a file"});
  }
  Machine machine;
  const Reader about(in.child("machine", false), source + ".machine");
  DeviceInfo& d = machine.device;
  d.name = about.text("name");
  d.uuid_hash = about.text("uuid_hash");
  if (about.text("device") != "cpu" && about.text("device") != "cuda") {
    throw input_error({source + ".machine.device", in_quotes(about.text("device"), 60), "'cpu' or 'cuda'"});
  }
  d.id.kind = about.text("device") == "cpu" ? DeviceKind::cpu : DeviceKind::cuda;
  machine.driver = about.text("driver");
  d.driver = about.text("cuda");
  const std::string capability = about.text("compute_capability");
  if (const size_t dot = capability.find('.'); dot != std::string::npos) {
    d.compute_major = std::atoi(capability.c_str());
    d.compute_minor = std::atoi(capability.c_str() + dot + 1);
  }
  d.multiprocessors = static_cast<int>(std::min<int64_t>(about.count("multiprocessors"), 1 << 20));
  d.memory_bytes = about.count("memory_bytes");
  d.l2_bytes = about.count("l2_bytes");
  d.clock_hz = about.number("max_sm_clock_hz");
  d.memory_clock_hz = about.number("max_mem_clock_hz");
  machine.threads = static_cast<int>(std::min<int64_t>(about.count("threads"), 1 << 20));
  machine.commit = in.text("commit");
  machine.command = in.text("command");
  machine.date = in.text("date");
  machine.quick = in.flag("quick");
  machine.probe_seconds = in.number("probe_seconds");
  const Json& figures = in.child("figures", true);
  for (size_t i = 0; i < figures.size(); ++i) {
    machine.figures.push_back(read_figure(figures[i], fmt::format("{}.figures[{}]", source, i)));
  }
  return machine;
}

}  // namespace rafter
