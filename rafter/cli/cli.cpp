#include "rafter/cli/cli.h"

#include <algorithm>
#include <csignal>
#include <new>

#include "rafter/base/error.h"
#include "rafter/base/host_memory.h"
#include "rafter/cli/interrupt.h"
#include "rafter/cli/output.h"
#include "rafter/cli/verb.h"
#include "rafter/report/build_info.h"

namespace rafter {

namespace {

constexpr const char* kAbout = "Runs language models with its own kernels, and accounts for every microsecond of it.";

constexpr const char* kFooter =
    "Examples:\n"
    "  rafter info\n"
    "  rafter run model.gguf -p \"The sea is\" -n 64\n"
    "  rafter chat model.gguf\n"
    "  rafter bench model.gguf -p 512 -n 128\n"
    "  rafter trace model.gguf\n"
    "  rafter trace -- python step.py\n"
    "  rafter probe\n"
    "`rafter VERB --help` says more.";

std::string version_text() {
  const BuildInfo& build = build_info();
  return fmt::format("rafter {} ({}{})", build.version, build.commit.substr(0, 12), build.dirty ? ", modified" : "");
}

// The line as a shell would take it.
std::string command_line(int argc, char** argv) {
  std::string line = "rafter";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                            "-_=+./:,@%~") == std::string::npos;
    line += ' ';
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? "'\\''" : std::string(1, c);
    line += '\'';
  }
  return line;
}

std::string help_text(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return fmt::format("`rafter{} --help` lists what there is", chosen.empty() ? "" : " " + chosen[0]->get_name());
}

// "-n" of "-n,--n-predict"; a positional's own name.
std::string short_name(const CLI::Option& option) {
  const std::string names = option.get_name(false, true);
  return names.substr(0, names.find(','));
}

// For an option with too few values, or too many: CLI11 begins its complaint with the option's name.
Error count_error(const CLI::ParseError& error, const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen[0];
  const std::string what = error.what();
  const CLI::Option* option = command.get_option_no_throw(what.substr(0, what.find(':')));
  if (option == nullptr) return Error(Fault::input, fmt::format("{}. {}.", printable(what, 300), help_text(app)));
  const std::string flag = short_name(*option), usage = flag + ' ' + option->get_type_name();
  const size_t values = option->results().size();
  const auto most = static_cast<size_t>(option->get_items_expected_max());
  if (values <= most) return input_error({flag, "given without a value", usage, help_text(app)});
  if (most > 1) return input_error({flag, fmt::format("given {} values", values), usage, help_text(app)});
  return input_error(
      {flag, values == 2 ? "given twice" : fmt::format("given {} times", values), usage + " once", help_text(app)});
}

// CLI11's complaint as one line that names the thing, with the way to the right help.
Error usage_error(const CLI::ParseError& error, const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  const std::string help = help_text(app);
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch)) return count_error(error, app);
  const std::vector<std::string> unknown = app.remaining(true);
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) && !unknown.empty()) {
    const std::string word = in_quotes(unknown[0], 80);
    if (unknown[0].starts_with('-')) return input_error({"the option " + word, "not known", {}, help});
    if (chosen.empty()) return input_error({"the verb " + word, "not known", {}, help});
    return input_error({"the argument " + word, "one too many", {}, help});
  }
  std::string what = error.what();
  while (what.ends_with('.') || what.ends_with('\n')) what.pop_back();
  return Error(Fault::input, fmt::format("{}. {}.", printable(what, 300), help));
}

// The words for CLI11, which takes the last first. A `--` before a word that is no option says nothing, so options may still
// follow; one before a word that looks like an option makes all that follows plain words.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words;
  for (int i = argc - 1; i > 0; --i) {
    const bool idle = std::string_view(argv[i]) == "--" && (i + 1 == argc || argv[i + 1][0] != '-');
    if (!idle) words.emplace_back(argv[i]);
  }
  return words;
}

// What follows the first `--` of a trace: a command with options of its own, which this program leaves alone. Takes it, and
// the `--`, off the line.
std::vector<std::string> take_traced_command(int& argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "trace") return {};
  char** const end = argv + argc;
  char** const dashes = std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; });
  if (dashes == end) return {};
  argc = static_cast<int>(dashes - argv);
  if (dashes + 1 == end || dashes[1][0] == '\0')
    throw input_error({"the command after --", "missing", "rafter trace -- CMD ARGS..."});
  return {dashes + 1, end};
}

int dispatch(int argc, char** argv) {
  CLI::App app(kAbout, "rafter");
  app.footer(kFooter);
  app.set_version_flag("--version", version_text());
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.require_subcommand(0, 1);
  const std::string line = command_line(argc, argv);
  const std::vector<std::string> traced = take_traced_command(argc, argv);
  const Verb verbs[] = {add_run(app, line),           add_chat(app),        add_bench(app, line),
                        add_trace(app, line, traced), add_probe(app, line), add_roofline(app),
                        add_lab(app, line),           add_tokenize(app),    add_info(app)};
  try {
    app.parse(words_of(argc, argv));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    write_out(chosen.empty() ? app.help() : chosen[0]->help("rafter"));
    return 0;
  } catch (const CLI::CallForVersion&) {
    write_out(version_text() + '\n');
    return 0;
  } catch (const CLI::ParseError& error) {
    throw usage_error(error, app);
  }
  for (const Verb& verb : verbs) {
    if (verb.command->parsed()) return verb.action();
  }
  write_out(app.help());
  return 0;
}

}  // namespace

int run_cli(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is seen where it is written to
  report_cut_files();
  try {
    return dispatch(argc, argv);
  } catch (const OutputClosed&) {
    return 0;  // the reader has what it wanted
  } catch (const Interrupted&) {
    return interrupted_status();
  } catch (const Error& error) {
    note(fmt::format("rafter: {}\n", error.what()));
    return error.exit_status();
  } catch (const std::bad_alloc&) {
    note(fmt::format("rafter: out of memory: what is free is {}. Use a smaller context (-c), or a smaller model.\n",
                     describe(host_memory())));
    return 1;
  } catch (const std::exception& error) {
    note(fmt::format("rafter: internal error: {}\n", printable(error.what(), 300)));
    return 1;
  }
}

}  // namespace rafter
