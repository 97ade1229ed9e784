// `rafter probe`: measures the roofs of a device and keeps them; compares two measurements.
#include "rafter/machine/probe.h"

#include <ctime>

#include "rafter/base/error.h"
#include "rafter/base/progress.h"
#include "rafter/cli/interrupt.h"
#include "rafter/cli/output.h"
#include "rafter/cli/roofs.h"
#include "rafter/cli/values.h"
#include "rafter/cli/verb.h"
#include "rafter/machine/store.h"
#include "rafter/measure/gpu_state.h"
#include "rafter/report/build_info.h"
#include "rafter/report/machine_page.h"
#include "rafter/report/machine_report.h"
#include "rafter/report/table.h"

namespace rafter {

namespace {

struct ProbeVerbOptions {
  std::string device, file, page;
  std::vector<std::string> only, compare;
  bool quick = false, list = false, json = false;
};

DeviceId device_of(const ProbeVerbOptions& options) {
  return options.device.empty() ? default_device() : parse_device(options.device);
}

int list_probes(DeviceId id) {
  device(id);  // one that is not there has none
  Table table({{"probe"}, {"measures"}});
  for (const Probe& probe : probes(id.kind)) table.add({std::string(probe.name), std::string(probe.what)});
  write_out(table.text());
  return 0;
}

int compare(const ProbeVerbOptions& options) {
  const Machine a = load_machine(options.compare[0]);
  std::optional<Machine> b;
  if (options.compare.size() == 2) {
    b = load_machine(options.compare[1]);
  } else {
    const DeviceId id = options.device.empty() && a.device.id.kind == DeviceKind::cpu ? DeviceId{} : device_of(options);
    b = known_machine(device(id).info());
    if (!b) throw input_error({"the machine to compare with", "not probed yet", "a second file", how_to_probe(id)});
  }
  const std::vector<FigurePair> pairs = compare_machines(a, *b);
  write_out(options.json ? compare_json(a, *b, pairs) : compare_text(a, *b, pairs));
  return 0;
}

Machine measure_machine(const ProbeVerbOptions& options, DeviceId id, const std::string& line) {
  Device& target = device(id);
  Progress progress("probing " + to_string(id));
  Machine machine = probe(target, {options.quick, options.only}, [&](double fraction, const std::string& what) {
    if (interrupted()) throw Interrupted{};
    progress.update(fraction, what);
  });
  machine.driver = gpu_state(id).driver;
  machine.commit = build_info().commit;
  machine.date = utc_date(static_cast<int64_t>(std::time(nullptr)));
  machine.command = line;
  return machine;
}

int probe_device(const ProbeVerbOptions& options, const std::string& line) {
  catch_interrupts();
  const Machine machine = measure_machine(options, device_of(options), line);
  std::string where;
  if (options.only.empty()) {
    where = machine_path(machine.device).string();
    save_machine(machine, where);
  }
  if (!options.file.empty()) {
    write_file(options.file, machine_json(machine));
    where += (where.empty() ? "" : " and ") + options.file;
  }
  if (!options.page.empty()) write_file(options.page, html(machine_page(machine)));
  write_out(options.json ? machine_json(machine) : machine_text(machine));
  if (!where.empty()) note(fmt::format("saved to {}\n", where));
  return 0;
}

int run_probe(const ProbeVerbOptions& options, const std::string& line) {
  if (!options.compare.empty()) return compare(options);
  if (options.list) return list_probes(device_of(options));
  return probe_device(options, line);
}

}  // namespace

Verb add_probe(CLI::App& app, const std::string& command_line) {
  CLI::App* command = app.add_subcommand("probe", "Measure this machine's roofs, and keep them for the other verbs");
  command->footer(
      "Other processes on the machine show in the numbers: stop them first.\n"
      "--compare says of each figure of B whether it is the same as A's, faster, slower, or unclear because it spreads too "
      "wide\n"
      "(2% of a bandwidth or rate, 5% of a latency count as the same). Its exit status is 0 whatever it finds, 2 for a bad "
      "file.\n"
      "Examples:\n"
      "  rafter probe\n"
      "  rafter probe --device cpu --quick\n"
      "  rafter probe --only latency,math --json --out machine.json\n"
      "  rafter probe --compare before.json after.json\n"
      "  rafter probe --compare before.json        # against what this machine was last measured at");
  auto options = std::make_shared<ProbeVerbOptions>();
  add_word(*command, "--device", options->device, "DEVICE",
           "cpu, cuda or cuda:N (default: the first usable GPU, else the CPU)");
  command->add_flag("--quick", options->quick, "Fewer points and samples");
  command->add_option("--only", options->only, "These probes alone; nothing is kept but by --out")
      ->delimiter(',')
      ->type_name("NAME,...");
  command->add_flag("--list", options->list, "Name the probes and measure nothing");
  command->add_option("--compare", options->compare, "Compare two machine files, or one with the kept measurement")
      ->expected(1, 2)
      ->type_name("A [B]");
  command->add_flag("--json", options->json, "One JSON object (rafter.machine/1; with --compare rafter.machine_compare/1)");
  add_word(*command, "--html", options->page, "FILE", "Write a page with the curves as well: one file that needs no other");
  add_word(*command, "--out", options->file, "FILE", "Write the measurement there as well, as JSON");
  return {command, [options, command, command_line] {
            refuse_together(*command, "--list", {"--compare", "--quick", "--only", "--json", "--html", "--out"});
            refuse_together(*command, "--compare", {"--quick", "--only", "--html", "--out"});
            return run_probe(*options, command_line);
          }};
}

}  // namespace rafter
