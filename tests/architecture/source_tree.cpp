// Reading a tree and judging it. Includes are found line by line: the sources hold none inside comments or strings.
#include "tests/architecture/source_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

namespace rafter::architecture {
namespace {

struct Include {
  std::string target;
  int line;
};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string_view without_leading_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text;
}

// What a line includes in quotes, where it does.
std::optional<std::string> quoted_include(std::string_view line) {
  line = without_leading_blanks(line);
  if (!line.starts_with('#')) return std::nullopt;
  line = without_leading_blanks(line.substr(1));
  if (!line.starts_with("include")) return std::nullopt;
  line = without_leading_blanks(line.substr(7));
  if (!line.starts_with('"')) return std::nullopt;
  return std::string(line.substr(1, line.find('"', 1) - 1));
}

std::vector<Include> includes_of(const SourceFile& file) {
  std::vector<Include> includes;
  int number = 0;
  for (const std::string_view line : lines_of(file.text)) {
    ++number;
    if (auto target = quoted_include(line)) includes.push_back({*target, number});
  }
  return includes;
}

// "ops" of "rafter/ops/cuda/a.h"; empty for a file outside the layers.
std::string layer_of(std::string_view path) {
  if (!path.starts_with("rafter/")) return {};
  path.remove_prefix(7);
  const size_t end = path.find('/');
  return end == std::string_view::npos ? std::string() : std::string(path.substr(0, end));
}

int rank_of(std::string_view layer) {
  const auto found = std::find(layers().begin(), layers().end(), layer);
  return found == layers().end() ? -1 : static_cast<int>(found - layers().begin());
}

bool is_header(std::string_view path) { return path.ends_with(".h") || path.ends_with(".cuh"); }

// The header that says what a source is about, without its ending: rafter/ops/a for rafter/ops/a.cpp and for
// tests/ops/a_test.cpp.
std::string subject_of(std::string path) {
  path.resize(path.rfind('.'));
  if (path.starts_with("tests/") && path.ends_with("_test")) {
    path.resize(path.size() - 5);
    path.replace(0, 5, "rafter");
  }
  return path;
}

std::set<std::string> paths_of(const SourceTree& tree) {
  std::set<std::string> paths;
  for (const SourceFile& file : tree) paths.insert(file.path);
  return paths;
}

// Depth-first over the include graph; the path walked so far is kept to print the cycle.
class CycleFinder {
 public:
  explicit CycleFinder(const SourceTree& tree) {
    for (const SourceFile& file : tree) {
      for (const Include& include : includes_of(file)) edges_[file.path].push_back(include.target);
    }
  }

  Findings run() {
    for (const auto& [path, targets] : edges_) visit(path);
    return findings_;
  }

 private:
  void visit(const std::string& path) {
    const auto open = std::find(walked_.begin(), walked_.end(), path);
    if (open != walked_.end()) {
      findings_.push_back(fmt::format("{} -> {}: a cycle", fmt::join(open, walked_.end(), " -> "), path));
      return;
    }
    if (!seen_.insert(path).second) return;
    walked_.push_back(path);
    if (const auto found = edges_.find(path); found != edges_.end()) {
      for (const std::string& target : found->second) visit(target);
    }
    walked_.pop_back();
  }

  std::map<std::string, std::vector<std::string>> edges_;
  std::set<std::string> seen_;
  std::vector<std::string> walked_;
  Findings findings_;
};

}  // namespace

const std::vector<std::string_view>& layers() {
  static const std::vector<std::string_view> order = {"base",    "device",  "comm",   "ops",    "machine",
                                                      "kernels", "formats", "models", "passes", "engine",
                                                      "measure", "report",  "serve",  "lab",    "cli"};
  return order;
}

SourceTree read_tree(const std::filesystem::path& root, const std::vector<std::string>& folders,
                     const std::vector<std::string>& endings) {
  namespace fs = std::filesystem;
  SourceTree tree;
  for (const std::string& folder : folders) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string path = entry.path().lexically_relative(root).generic_string();
      const auto matches = [&](const std::string& ending) { return path.ends_with(ending); };
      if (!entry.is_regular_file() || std::none_of(endings.begin(), endings.end(), matches)) continue;
      std::ifstream stream(entry.path(), std::ios::binary);
      std::ostringstream text;
      text << stream.rdbuf();
      tree.push_back({path, text.str()});
    }
  }
  std::sort(tree.begin(), tree.end(), [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return tree;
}

Findings check_layer_order(const SourceTree& tree) {
  Findings findings;
  for (const SourceFile& file : tree) {
    const std::string from = layer_of(file.path);
    if (from.empty()) continue;
    if (rank_of(from) < 0) {
      findings.push_back(fmt::format("{}: '{}' is no layer; the layers are {}", file.path, from, fmt::join(layers(), ", ")));
      continue;
    }
    for (const Include& include : includes_of(file)) {
      const std::string to = layer_of(include.target);
      if (to.empty() || rank_of(to) <= rank_of(from)) continue;
      findings.push_back(fmt::format("{}:{}: includes {}, and '{}' lies below '{}' in the order of layers", file.path,
                                     include.line, include.target, to, from));
    }
  }
  return findings;
}

Findings check_include_cycles(const SourceTree& tree) { return CycleFinder(tree).run(); }

Findings check_include_style(const SourceTree& tree) {
  Findings findings;
  const std::set<std::string> paths = paths_of(tree);
  for (const SourceFile& file : tree) {
    const std::string folder = file.path.substr(0, file.path.rfind('/') + 1);
    for (const Include& include : includes_of(file)) {
      const std::string_view target = include.target;
      if (target.starts_with("rafter/") || target.starts_with("tests/")) {
        if (paths.contains(include.target)) continue;
        findings.push_back(fmt::format("{}:{}: includes {}, which does not exist", file.path, include.line, target));
      } else if (target.starts_with('.') || paths.contains(folder + include.target)) {
        findings.push_back(fmt::format("{}:{}: includes {}; own files are named from the root: \"rafter/...\"", file.path,
                                       include.line, target));
      }
    }
  }
  return findings;
}

Findings check_openings(const SourceTree& tree) {
  Findings findings;
  const std::set<std::string> paths = paths_of(tree);
  for (const SourceFile& file : tree) {
    const bool header = is_header(file.path);
    const std::string subject = subject_of(file.path);
    const bool described_elsewhere = !header && (paths.contains(subject + ".h") || paths.contains(subject + ".cuh"));
    if (!file.text.starts_with("// ") && !described_elsewhere) {
      findings.push_back(fmt::format("{}:1: expected a comment that says what the file is for", file.path));
    }
    const auto lines = lines_of(file.text);
    // Highway compiles an -inl.h once for each instruction set, with a guard of its own.
    const bool once = std::find(lines.begin(), lines.end(), "#pragma once") != lines.end();
    if (header && !once && !file.path.ends_with("-inl.h")) {
      findings.push_back(fmt::format("{}: has no #pragma once", file.path));
    }
  }
  return findings;
}

Findings check_lengths(const SourceTree& tree, int most_lines) {
  Findings findings;
  for (const SourceFile& file : tree) {
    const auto lines = static_cast<int>(std::count(file.text.begin(), file.text.end(), '\n'));
    if (lines > most_lines) {
      findings.push_back(fmt::format("{}: {} lines; expected {} or fewer: it holds two ideas", file.path, lines, most_lines));
    }
  }
  return findings;
}

Findings check_machine_paths(const SourceTree& tree) {
  // Written in two parts, so that this file does not hold what it looks for.
  static const std::vector<std::string> starts = {std::string("/wor") + "k/", std::string("/roo") + "t/",
                                                  std::string("/hom") + "e/"};
  Findings findings;
  for (const SourceFile& file : tree) {
    int number = 0;
    for (const std::string_view line : lines_of(file.text)) {
      ++number;
      for (const std::string& start : starts) {
        if (line.find(start) != std::string_view::npos) {
          findings.push_back(fmt::format("{}:{}: holds '{}', a path of one machine", file.path, number, start));
        }
      }
    }
  }
  return findings;
}

}  // namespace rafter::architecture
