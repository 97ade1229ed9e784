// The rules that the sources themselves must keep, as functions over a tree of files: so that the real tree and made-up
// bad ones go through the same checks.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rafter::architecture {

struct SourceFile {
  std::string path;  // from the root of the repository, with '/'
  std::string text;
};
using SourceTree = std::vector<SourceFile>;

// One breach of a rule: "rafter/ops/a.h:3: includes ... ".
using Findings = std::vector<std::string>;

// Each folder of rafter/ includes only itself and folders before it in this list.
const std::vector<std::string_view>& layers();

// The files below root/folder, for each folder, whose names end in one of `endings`; build folders are passed over.
SourceTree read_tree(const std::filesystem::path& root, const std::vector<std::string>& folders,
                     const std::vector<std::string>& endings);

Findings check_layer_order(const SourceTree& tree);     // includes that climb, folders that are no layer
Findings check_include_cycles(const SourceTree& tree);  // between files, over any number of steps
Findings check_include_style(const SourceTree& tree);   // own files are named from the root, and exist
// A file opens with a comment, unless the header it belongs to, or is the test of, does; headers have #pragma once.
Findings check_openings(const SourceTree& tree);
Findings check_lengths(const SourceTree& tree, int most_lines);
Findings check_machine_paths(const SourceTree& tree);  // paths of the machine it was written on

}  // namespace rafter::architecture
