#include "rafter/lab/lab.h"

#include "rafter/base/error.h"
#include "rafter/base/json_value.h"

namespace rafter {

namespace {

constexpr Lab kLabs[] = {
    {"threads", 2, "A first kernel against the DRAM roof: blocks, grids, occupancy, divergence", threads_lab},
    {"memory", 3, "Every level of the memory: latency, bandwidth, capacity", memory_lab},
    {"roofline", 4, "The roofs, and the kernels of a language model under them", roofline_lab},
    {"one-token", 15, "Every kernel of one decode step: what it does, what it takes, and where the rest goes", one_token_lab},
};

}  // namespace

std::span<const Lab> labs() { return kLabs; }

const Lab& lab_named(const std::string& name) {
  std::string names;
  for (const Lab& lab : kLabs) {
    if (lab.name == name) return lab;
    names += (names.empty() ? "" : ", ") + std::string(lab.name);
  }
  throw input_error({"the chapter " + in_quotes(name, 40), "unknown", "one of " + names});
}

std::string lab_json(const Lab& lab, const LabResult& result) {
  const Json machine = Json::parse(machine_json(result.measured));
  Json json = {{"schema", "rafter.lab/1"}, {"lab", lab.name}, {"chapter", lab.chapter}, {"title", lab.title}};
  for (const char* field : {"machine", "commit", "command", "date", "quick", "figures"}) json[field] = machine[field];
  json["roofline"] = result.kernels.empty() ? Json(nullptr) : Json::parse(result.kernels);
  return to_text(json);
}

}  // namespace rafter
