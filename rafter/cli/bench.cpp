// `rafter bench`: llama-bench's tests on this machine.
#include <algorithm>

#include "rafter/base/error.h"
#include "rafter/base/progress.h"
#include "rafter/cli/model_options.h"
#include "rafter/cli/output.h"
#include "rafter/cli/roofs.h"
#include "rafter/cli/values.h"
#include "rafter/cli/verb.h"
#include "rafter/measure/bench.h"
#include "rafter/report/bench_report.h"
#include "rafter/report/results.h"

namespace rafter {

namespace {

constexpr int64_t kMaxTokens = int64_t{1} << 24;

struct BenchOptions {
  ModelOptions model;
  std::vector<int64_t> prompts{512}, generations{128}, depths{0};
  int64_t repetitions = 5, batch = 1;
  std::string form, file;
  bool json = false;
};

std::vector<BenchTest> tests_of(const BenchOptions& options) {
  std::vector<BenchTest> tests;
  for (const int64_t depth : options.depths) {
    for (const int64_t tokens : options.prompts) {
      if (tokens > 0) tests.push_back({BenchKind::prefill, tokens, depth});
    }
    for (const int64_t tokens : options.generations) {
      if (tokens > 0) tests.push_back({BenchKind::decode, tokens, depth});
    }
  }
  if (tests.empty()) throw input_error({"the number of tests", "0", "1 or more", "give -p or -n a number above 0"});
  return tests;
}

int64_t context_for(const std::vector<BenchTest>& tests, int64_t limit) {
  int64_t context = 0;
  for (const BenchTest& test : tests) {
    const int64_t tokens = test.depth + test.tokens;
    if (tokens > limit) {
      throw input_error(
          {"the test " + name(test), fmt::format("{} tokens long", tokens), fmt::format("at most the model's {}", limit)});
    }
    context = std::max(context, tokens);
  }
  return context;
}

std::string document(const BenchOptions& options, LoadedModel& model, const std::vector<BenchResult>& results,
                     const std::string& line) {
  const BenchSubject subject = subject_of(model.engine(), model.threads());
  if (options.form == "csv") return bench_csv(subject, results).csv();
  if (options.form == "md") return bench_table(subject, results).markdown();
  ResultsFile file;
  file.machine = device(model.engine().options().device).info();
  file.state = results.back().state;
  file.cpu_threads = model.threads();
  file.command = line;
  file.rows = bench_rows(subject, results);
  return results_json(file);
}

int bench(BenchOptions& options, const std::string& line) {
  if (options.json && !options.form.empty() && options.form != "json")
    throw input_error({"-o", in_quotes(options.form, 40) + ", with --json", "one of the two"});
  if (options.json) options.form = "json";
  if (options.form.empty()) options.form = "md";
  if (options.form != "md" && options.form != "csv" && options.form != "json") {
    throw input_error({"-o", in_quotes(options.form, 40), "md, csv or json"});
  }
  const std::vector<BenchTest> tests = tests_of(options);
  const bool decodes = std::any_of(tests.begin(), tests.end(), [](const BenchTest& t) { return t.kind == BenchKind::decode; });
  if (options.batch > 1 && !decodes)
    throw input_error({"-b", std::to_string(options.batch), "1 without a test of -n: a prompt is read alone"});
  LoadedModel model(options.model);
  model.start(context_for(tests, model.config().context), options.batch);
  std::vector<BenchResult> results;
  for (const BenchTest& test : tests) {
    Progress progress(name(test), std::chrono::milliseconds(0));
    results.push_back(run_bench(model.engine(), test, options.repetitions,
                                [&](double fraction, const std::string& what) { progress.update(fraction, what); }));
  }
  const Roofs roofs = known_roofs(model.engine().options().device);
  for (BenchResult& result : results) {
    if (roofs.machine) add_floor(result, *roofs.machine);
  }
  const std::string text = document(options, model, results, line);
  if (options.file.empty()) {
    write_out(text);
  } else {
    write_file(options.file, text);
  }
  note(roofs.about);
  return 0;
}

}  // namespace

Verb add_bench(CLI::App& app, const std::string& command_line) {
  CLI::App* command = app.add_subcommand("bench", "Measure tokens a second, in llama-bench's terms");
  command->footer(
      "pp512 reads a prompt of 512 random tokens, tg128 generates 128 tokens; @ dN starts behind N tokens.\n"
      "t/s is the mean over the repetitions and its standard deviation; one more before them is not counted.\n"
      "% of roof is the least time at the roofs that `rafter probe` measured, over the time taken.\n"
      "Examples:\n"
      "  rafter bench model.gguf -p 512 -n 128 -r 5\n"
      "  rafter bench model.gguf -p 128,512 -n 64 -d 0,2048 -o csv\n"
      "  rafter bench --random-weights qwen2.5-1.5b -p 0 -n 128 -d 512 --json --out results.json");
  auto options = std::make_shared<BenchOptions>();
  add_model_choice(*command, options->model);
  const char* group = "Tests";
  add_list(*command, "-p,--n-prompt", options->prompts, {0, kMaxTokens}, "Tokens of a prompt (default 512; 0: no such test)")
      ->group(group);
  add_list(*command, "-n,--n-gen", options->generations, {0, kMaxTokens}, "Tokens to generate (default 128; 0: no such test)")
      ->group(group);
  add_list(*command, "-d,--n-depth", options->depths, {0, kMaxTokens}, "Tokens in the cache before (default 0)")->group(group);
  add_integer(*command, "-r,--repetitions", options->repetitions, {1, 100000}, "Repetitions (default 5)")->group(group);
  add_integer(*command, "-b,--batch", options->batch, {1, 256}, "Sequences generated together (default 1)")->group(group);
  add_word(*command, "-o,--output", options->form, "FORM", "md (default), csv or json (rafter.results/1)");
  command->add_flag("--json", options->json, "The same as -o json");
  add_word(*command, "--out", options->file, "FILE", "Write there, not to standard output");
  add_execution_options(*command, options->model);
  return {command, [options, command_line] { return bench(*options, command_line); }};
}

}  // namespace rafter
