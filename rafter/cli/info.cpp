// `rafter info`: what this machine has, and what of it can be used.
#include "rafter/base/error.h"
#include "rafter/base/json_value.h"
#include "rafter/base/units.h"
#include "rafter/cli/output.h"
#include "rafter/cli/roofs.h"
#include "rafter/cli/verb.h"
#include "rafter/device/buffer.h"
#include "rafter/kernels/random/random.h"
#include "rafter/kernels/simd_target.h"
#include "rafter/machine/store.h"
#include "rafter/measure/gpu_state.h"
#include "rafter/report/build_info.h"

namespace rafter {

namespace {

struct DeviceReport {
  DeviceInfo info;
  GpuState state;
  std::optional<Machine> roofs;
  std::string roofs_text;  // how old they are, or why there are none
  std::string why_not;     // empty where it is usable
};

// Runs a small kernel: a driver, an architecture or a broken GPU that is in the way shows here.
std::string why_unusable(Device& device) {
  try {
    const auto stream = device.make_stream();
    const Buffer buffer(device, 4096);
    fill_uniform(buffer.tensor(DType::f32, {1024}), 1, -1, 1, *stream);
    stream->synchronize();
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

void look_for_roofs(DeviceReport& report) {
  try {
    report.roofs = known_machine(report.info);
    report.roofs_text = report.roofs ? "roofs " + roofs_age(*report.roofs) : "not probed: " + how_to_probe(report.info.id);
  } catch (const Error& error) {
    report.roofs_text = fmt::format("not probed: {}", error.what());
  }
}

DeviceReport look_at(DeviceId id) {
  DeviceReport report;
  try {
    Device& found = device(id);
    report.info = found.info();
    report.state = gpu_state(id);
    report.why_not = why_unusable(found);
    look_for_roofs(report);
  } catch (const Error& error) {
    report.info.id = id;
    report.why_not = error.what();
  }
  return report;
}

std::vector<DeviceReport> look_at_all() {
  std::vector<DeviceReport> reports = {look_at({})};
  for (int i = 0; i < cuda_status().devices; ++i) reports.push_back(look_at({DeviceKind::cuda, i}));
  return reports;
}

std::string clock_text(double hz) { return fmt::format("{:.0f} MHz", hz / 1e6); }

std::string describe_cpu(const DeviceInfo& info) {
  return fmt::format("{}\n          {}, SIMD {}, memory {} ({} free), L2 {}", info.name,
                     counted(info.multiprocessors, "usable core"), simd_target(), format_capacity(info.memory_bytes),
                     format_capacity(info.free_bytes), format_capacity(info.l2_bytes));
}

std::string describe_gpu(const DeviceReport& report) {
  const DeviceInfo& info = report.info;
  std::string text =
      fmt::format("{}\n          compute capability {}.{}, {} SMs, memory {} ({} free), L2 {}", info.name, info.compute_major,
                  info.compute_minor, info.multiprocessors, format_capacity(info.memory_bytes),
                  format_capacity(info.free_bytes), format_capacity(info.l2_bytes));
  text += fmt::format("\n          driver {} (CUDA {}), runtime {}",
                      report.state.driver.empty() ? "of unknown version" : report.state.driver, info.driver, info.runtime);
  text += fmt::format("\n          clocks up to {} (SM) and {} (memory)", clock_text(info.clock_hz),
                      clock_text(info.memory_clock_hz));
  if (report.state.sm_clock_hz > 0)
    text += fmt::format(", now {} and {}", clock_text(report.state.sm_clock_hz), clock_text(report.state.memory_clock_hz));
  return text;
}

std::string info_text(const std::vector<DeviceReport>& reports) {
  const BuildInfo& build = build_info();
  std::string text = fmt::format("rafter {} (commit {}{}), {} {}\n", build.version, build.commit.substr(0, 12),
                                 build.dirty ? ", modified" : "", build.compiler, build.build_type);
  text += build.cuda.empty() ? fmt::format("built without CUDA: {}\n\n", build.why_no_cuda)
                             : fmt::format("built with CUDA {} for {}\n\n", build.cuda, build.cuda_archs);
  for (const DeviceReport& report : reports) {
    const bool cpu = report.info.id.kind == DeviceKind::cpu;
    text += fmt::format("{:<8}  {}\n", to_string(report.info.id), cpu ? describe_cpu(report.info) : describe_gpu(report));
    text += report.why_not.empty() ? fmt::format("          usable; {}\n", report.roofs_text)
                                   : fmt::format("          not usable: {}\n", report.why_not);
  }
  if (cuda_status().devices == 0) text += fmt::format("{:<8}  none: {}\n", "cuda", cuda_status().reason);
  return text + fmt::format("\nWithout --device: {}\n", to_string(default_device()));
}

Json device_json(const DeviceReport& report) {
  const DeviceInfo& info = report.info;
  Json json = {{"device", to_string(info.id)}, {"name", info.name}, {"usable", report.why_not.empty()}};
  json["why_not"] = report.why_not.empty() ? Json(nullptr) : Json(report.why_not);
  json["uuid_hash"] = info.uuid_hash;
  json["probed"] = report.roofs ? Json{{"date", report.roofs->date}, {"quick", report.roofs->quick}} : Json(nullptr);
  json["memory_bytes"] = info.memory_bytes;
  json["free_bytes"] = info.free_bytes;
  json["l2_bytes"] = info.l2_bytes;
  if (info.id.kind == DeviceKind::cpu) {
    json["cores"] = info.multiprocessors;
    json["simd"] = simd_target();
    return json;
  }
  json["driver"] = report.state.driver.empty() ? Json(nullptr) : Json(report.state.driver);
  json["driver_cuda"] = info.driver;
  json["runtime_cuda"] = info.runtime;
  json["compute_capability"] = fmt::format("{}.{}", info.compute_major, info.compute_minor);
  json["multiprocessors"] = info.multiprocessors;
  json["shared_bytes_per_block"] = info.shared_bytes_per_block;
  json["max_sm_clock_hz"] = known_or_null(info.clock_hz);
  json["max_mem_clock_hz"] = known_or_null(info.memory_clock_hz);
  json["sm_clock_hz"] = known_or_null(report.state.sm_clock_hz);
  json["mem_clock_hz"] = known_or_null(report.state.memory_clock_hz);
  return json;
}

std::string info_json(const std::vector<DeviceReport>& reports) {
  const BuildInfo& build = build_info();
  Json json = {{"schema", "rafter.info/1"}};
  json["build"] = {{"version", build.version},
                   {"commit", build.commit},
                   {"dirty", build.dirty},
                   {"compiler", build.compiler},
                   {"type", build.build_type},
                   {"cuda", build.cuda.empty() ? Json(nullptr) : Json(build.cuda)},
                   {"cuda_archs", build.cuda.empty() ? Json(nullptr) : Json(build.cuda_archs)}};
  json["default_device"] = to_string(default_device());
  json["why_no_cuda"] = cuda_status().devices > 0 ? Json(nullptr) : Json(cuda_status().reason);
  json["devices"] = Json::array();
  for (const DeviceReport& report : reports) json["devices"].push_back(device_json(report));
  return to_text(json);
}

}  // namespace

Verb add_info(CLI::App& app) {
  CLI::App* command = app.add_subcommand("info", "Devices, and what of them is usable");
  command->footer("Examples:\n  rafter info\n  rafter info --json");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "One JSON object (rafter.info/1)");
  return {command, [json] {
            const std::vector<DeviceReport> reports = look_at_all();
            write_out(*json ? info_json(reports) : info_text(reports));
            return 0;
          }};
}

}  // namespace rafter
