// `rafter roofline`: the kernels of a profile under the measured roofs.
#include "rafter/report/roofline.h"
#include "rafter/base/error.h"
#include "rafter/cli/output.h"
#include "rafter/cli/roofs.h"
#include "rafter/cli/values.h"
#include "rafter/cli/verb.h"
#include "rafter/machine/store.h"

namespace rafter {

namespace {

struct RooflineOptions {
  std::string file, machine, out, page;
  int64_t top = 20;
  bool json = false;
};

// The machine file named, else what this machine's default device was measured at.
std::optional<Machine> roofs_of(const RooflineOptions& options) {
  if (!options.machine.empty()) return load_machine(options.machine);
  Roofs known = known_roofs(default_device());
  note(known.about);
  return std::move(known.machine);
}

void note_other_device(const Roofline& roofline) {
  if (!roofline.machine || roofline.profile.device.empty()) return;
  if (roofline.profile.device != roofline.machine->device.name) {
    note(fmt::format("the profile is of {}, the roofs are of {}: give that machine's file by --machine\n",
                     roofline.profile.device, roofline.machine->device.name));
  }
}

int roofline(const RooflineOptions& options) {
  Profile profile = read_profile(options.file);  // what is wrong with it is said before a word on roofs
  const Roofline placed = place_kernels(std::move(profile), roofs_of(options));
  note_other_device(placed);
  for (const std::string& remark : placed.profile.remarks) note(remark + "\n");
  const std::string text = options.json ? roofline_json(placed) : roofline_text(placed, static_cast<size_t>(options.top));
  if (!options.page.empty()) write_file(options.page, html(roofline_page(placed)));
  if (options.out.empty()) {
    write_out(text);
  } else {
    write_file(options.out, text);
  }
  return 0;
}

}  // namespace

Verb add_roofline(CLI::App& app) {
  CLI::App* command = app.add_subcommand("roofline", "Kernels of any profile under the measured roofs, and what limits each");
  command->footer(
      "FILE is one of: Nsight Compute CSV (ncu --page raw or details --csv) or .ncu-rep (read through ncu), Nsight Systems\n"
      "SQLite (nsys export --type sqlite), a PyTorch profiler trace (.json, .json.gz), `rafter bench --json`, `rafter trace "
      "--json`.\n"
      "Roofs are those that `rafter probe` measured on this machine, or --machine's.\n"
      "Examples:\n"
      "  rafter roofline app.csv                    # of: ncu --set full --page raw --csv ./app > app.csv\n"
      "  rafter roofline trace.json.gz --machine results/h200/machine.json --html page.html\n"
      "  rafter trace model.gguf --json > step.json && rafter roofline step.json --json");
  auto options = std::make_shared<RooflineOptions>();
  add_word(*command, "FILE", options->file, "FILE", "The profile");
  add_word(*command, "--machine", options->machine, "FILE", "A machine file (rafter probe --out)");
  add_integer(*command, "--top", options->top, {0, 1000000}, "Kernels to show, the longest first (default 20; 0: all)");
  command->add_flag("--json", options->json, "One JSON object (rafter.roofline/1), every kernel");
  add_word(*command, "--html", options->page, "FILE", "Write a page with the chart as well: one file that needs no other");
  add_word(*command, "--out", options->out, "FILE", "Write there, not to standard output");
  return {command, [options, command] {
            if (options->file.empty()) throw input_error({"the profile", "not given", "FILE"});
            refuse_together(*command, "--json", {"--top"});
            return roofline(*options);
          }};
}

}  // namespace rafter
