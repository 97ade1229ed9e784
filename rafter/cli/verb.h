// A verb: a subcommand of the command line and what it does.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace rafter {

struct Verb {
  CLI::App* command = nullptr;
  std::function<int()> action;  // gives the exit status
};

// Each adds its subcommand. `command_line` is the line as it was typed, for results files; `words` what followed a `--`.
Verb add_info(CLI::App& app);
Verb add_run(CLI::App& app, const std::string& command_line);
Verb add_chat(CLI::App& app);
Verb add_bench(CLI::App& app, const std::string& command_line);
Verb add_trace(CLI::App& app, const std::string& command_line, const std::vector<std::string>& words);
Verb add_tokenize(CLI::App& app);
Verb add_probe(CLI::App& app, const std::string& command_line);
Verb add_roofline(CLI::App& app);
Verb add_lab(CLI::App& app, const std::string& command_line);

}  // namespace rafter
