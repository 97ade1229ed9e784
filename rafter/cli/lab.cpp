// `rafter lab`: the chapters, measured on this machine.
#include "rafter/lab/lab.h"

#include <ctime>
#include <filesystem>

#include "rafter/base/error.h"
#include "rafter/base/progress.h"
#include "rafter/cli/interrupt.h"
#include "rafter/cli/output.h"
#include "rafter/cli/verb.h"
#include "rafter/machine/store.h"
#include "rafter/report/build_info.h"
#include "rafter/report/figure_charts.h"
#include "rafter/report/table.h"

namespace rafter {

namespace {

struct LabVerbOptions {
  std::string name, device, folder, model, model_file;
  bool quick = false, json = false;
};

int list_labs() {
  Table table({{"chapter", Align::right}, {"name"}, {"what it shows"}});
  for (const Lab& lab : labs()) table.add({std::to_string(lab.chapter), std::string(lab.name), std::string(lab.title)});
  write_out(table.text());
  return 0;
}

LabResult measured(const Lab& lab, const LabVerbOptions& options, const std::string& line) {
  const DeviceId id = options.device.empty() ? default_device() : parse_device(options.device);
  Progress progress(fmt::format("lab {}", lab.name));
  LabResult result =
      lab.run({id, options.quick, options.model, options.model_file}, [&](double fraction, const std::string& what) {
        if (interrupted()) throw Interrupted{};
        progress.update(fraction, what);
      });
  result.measured.commit = build_info().commit;
  result.measured.date = utc_date(static_cast<int64_t>(std::time(nullptr)));
  result.measured.command = line;
  return result;
}

void write_files(const Lab& lab, const LabVerbOptions& options, const LabResult& result) {
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  if (error) throw input_error({"the folder " + in_quotes(options.folder), "not to be made: " + error.message()});
  const std::string base = (std::filesystem::path(options.folder) / lab.name).string();
  write_file(base + ".html", html(result.page));
  write_file(base + ".json", lab_json(lab, result));
  write_file(base + ".txt", page_text(result.page));
  note(fmt::format("wrote {0}.html, {0}.json and {0}.txt\n", base));
}

int lab(const LabVerbOptions& options, const std::string& line) {
  if (options.name.empty()) return list_labs();
  const Lab& chosen = lab_named(options.name);
  catch_interrupts();
  const LabResult result = measured(chosen, options, line);
  if (!options.folder.empty()) write_files(chosen, options, result);
  write_out(options.json ? lab_json(chosen, result) : page_text(result.page));
  return 0;
}

}  // namespace

Verb add_lab(CLI::App& app, const std::string& command_line) {
  CLI::App* command = app.add_subcommand("lab", "The chapters, measured and explained on your own machine");
  command->footer(
      "Without a name: the list of chapters.\n"
      "Examples:\n"
      "  rafter lab\n"
      "  rafter lab memory --out report\n"
      "  rafter lab one-token --random-weights qwen2.5-0.5b\n"
      "  rafter lab threads --device cpu --quick --json");
  auto options = std::make_shared<LabVerbOptions>();
  command->add_option("name", options->name, "The chapter")->type_name("NAME");
  command->add_option("--device", options->device, "cpu, cuda or cuda:N (default: the first usable GPU, else the CPU)")
      ->type_name("DEVICE");
  command->add_option("--random-weights", options->model, "The model of chapters that run one, by the name of its config")
      ->type_name("NAME");
  command->add_option("-m,--model", options->model_file, "The same: a GGUF file or a folder of safetensors")
      ->type_name("PATH")
      ->excludes("--random-weights");
  command->add_flag("--quick", options->quick, "Fewer points and samples");
  command->add_flag("--json", options->json, "One JSON object (rafter.lab/1)");
  command->add_option("--out", options->folder, "Write NAME.html, NAME.json and NAME.txt there as well")->type_name("FOLDER");
  return {command, [options, command_line] { return lab(*options, command_line); }};
}

}  // namespace rafter
