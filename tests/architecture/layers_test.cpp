// The sources keep the order of layers (docs/architecture.md) and the other rules that a compiler does not check. Each
// rule is first shown to find a breach in a made-up tree.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/architecture/source_tree.h"

namespace rafter::architecture {
namespace {

using ::testing::TempDir;

SourceTree own_sources(const std::vector<std::string>& folders) {
  return read_tree(RAFTER_SOURCE_DIR, folders, {".h", ".cpp", ".cu", ".cuh"});
}

std::string listed(const Findings& findings) {
  std::string text;
  for (const std::string& finding : findings) text += "\n  " + finding;
  return text;
}

void expect_none(const Findings& findings) { EXPECT_TRUE(findings.empty()) << listed(findings); }

void expect_one(const Findings& findings, std::string_view part) {
  ASSERT_EQ(findings.size(), 1u) << listed(findings);
  EXPECT_NE(findings[0].find(part), std::string::npos) << findings[0];
}

TEST(LayerRules, AnIncludeOfAnEarlierLayerOrTheSameIsFine) {
  expect_none(check_layer_order({{"rafter/ops/op.h", "#include \"rafter/base/dtype.h\"\n#include \"rafter/ops/cost.h\"\n"}}));
}

TEST(LayerRules, AnIncludeThatClimbsIsFound) {
  expect_one(check_layer_order({{"rafter/base/error.h", "// x\n#include \"rafter/ops/op.h\"\n"}}), "rafter/base/error.h:2");
  expect_one(check_layer_order({{"rafter/kernels/norm/cuda/01.cu", "  #  include   \"rafter/models/config.h\"\n"}}),
             "'models'");
  expect_one(check_layer_order({{"rafter/report/a.cpp", "#include \"rafter/cli/main/args.h\"\n"}}), "'cli'");
}

TEST(LayerRules, AFolderThatIsNoLayerIsFound) {
  expect_one(check_layer_order({{"rafter/utils/strings.h", "// x\n"}}), "'utils' is no layer");
}

TEST(LayerRules, CyclesOfAnyLengthAreFound) {
  expect_one(check_include_cycles({{"rafter/ops/a.h", "#include \"rafter/ops/a.h\"\n"}}), "a.h -> rafter/ops/a.h");
  expect_one(check_include_cycles({{"rafter/ops/a.h", "#include \"rafter/ops/b.h\"\n"},
                                   {"rafter/ops/b.h", "#include \"rafter/ops/c.h\"\n"},
                                   {"rafter/ops/c.h", "#include \"rafter/ops/a.h\"\n"}}),
             "rafter/ops/a.h -> rafter/ops/b.h -> rafter/ops/c.h -> rafter/ops/a.h");
}

TEST(LayerRules, TwoWaysToOneHeaderAreNoCycle) {
  expect_none(check_include_cycles({{"rafter/ops/a.h", "#include \"rafter/ops/b.h\"\n#include \"rafter/ops/c.h\"\n"},
                                    {"rafter/ops/b.h", "#include \"rafter/ops/d.h\"\n"},
                                    {"rafter/ops/c.h", "#include \"rafter/ops/d.h\"\n"},
                                    {"rafter/ops/d.h", ""}}));
}

TEST(LayerRules, RelativeAndMissingIncludesAreFound) {
  expect_one(check_include_style({{"rafter/ops/a.h", "#include \"../base/dtype.h\"\n"}}), "named from the root");
  expect_one(check_include_style({{"rafter/ops/a.h", "#include \"b.h\"\n"}, {"rafter/ops/b.h", ""}}), "named from the root");
  expect_one(check_include_style({{"rafter/ops/a.h", "#include \"rafter/ops/gone.h\"\n"}}), "does not exist");
  expect_none(check_include_style({{"rafter/ops/a.h", "#include \"hwy/highway.h\"\n#include <vector>\n"}}));
}

TEST(LayerRules, OpeningsAreChecked) {
  expect_one(check_openings({{"rafter/ops/a.h", "// What it is for.\n"}}), "no #pragma once");
  expect_one(check_openings({{"rafter/ops/a.cpp", "#include <vector>\n"}}), "rafter/ops/a.cpp:1");
  expect_one(check_openings({{"rafter/ops/a.cpp", ""}}), "rafter/ops/a.cpp:1");
  expect_one(check_openings({{"rafter/ops/a.h", "#pragma once\n"}, {"rafter/ops/a.cpp", ""}}), "rafter/ops/a.h:1");
  expect_none(check_openings({{"rafter/ops/a.h", "// What it is for.\n#pragma once\n"},
                              {"rafter/ops/a.cpp", "#include <vector>\n"},
                              {"tests/ops/a_test.cpp", "#include <vector>\n"}}));
  expect_one(check_openings({{"tests/ops/a_test.cpp", "#include <vector>\n"}}), "tests/ops/a_test.cpp:1");
}

TEST(LayerRules, LongFilesAreFound) {
  expect_one(check_lengths({{"rafter/ops/a.cpp", std::string(701, '\n')}}, 700), "701 lines");
  expect_none(check_lengths({{"rafter/ops/a.cpp", std::string(700, '\n')}}, 700));
}

TEST(LayerRules, MachinePathsAreFound) {
  expect_one(check_machine_paths({{"rafter/ops/a.cpp",
                                   "// x\nopen(\"/hom"
                                   "e/me/model.gguf\");\n"}}),
             "rafter/ops/a.cpp:2");
  expect_none(check_machine_paths({{"rafter/ops/a.cpp", "open(\"/usr/local/cuda/bin\");\n"}}));
}

TEST(LayerRules, ATreeIsReadFromDisk) {
  const std::filesystem::path root = std::filesystem::path(TempDir()) / "rafter_source_tree";
  std::filesystem::create_directories(root / "rafter/base/deep");
  std::ofstream(root / "rafter/base/deep/bad.h") << "#include \"rafter/engine/sampler.h\"\n";
  std::ofstream(root / "rafter/base/notes.txt") << "no source\n";
  const SourceTree tree = read_tree(root, {"rafter", "absent"}, {".h"});
  std::filesystem::remove_all(root);
  ASSERT_EQ(tree.size(), 1u);
  EXPECT_EQ(tree[0].path, "rafter/base/deep/bad.h");
  expect_one(check_layer_order(tree), "rafter/engine/sampler.h");
}

TEST(Sources, AreFound) { EXPECT_GT(own_sources({"rafter"}).size(), 40u); }
TEST(Sources, KeepTheOrderOfLayers) { expect_none(check_layer_order(own_sources({"rafter"}))); }
TEST(Sources, HaveNoIncludeCycles) { expect_none(check_include_cycles(own_sources({"rafter", "tests"}))); }
TEST(Sources, NameTheirIncludesFromTheRoot) { expect_none(check_include_style(own_sources({"rafter", "tests"}))); }
TEST(Sources, SayWhatEachFileIsFor) { expect_none(check_openings(own_sources({"rafter", "tests"}))); }
TEST(Sources, AreShort) { expect_none(check_lengths(own_sources({"rafter", "tests"}), 700)); }

TEST(Sources, HoldNoPathOfOneMachine) {
  expect_none(check_machine_paths(own_sources({"rafter", "tests"})));
  expect_none(check_machine_paths(read_tree(RAFTER_SOURCE_DIR, {"docs", "scripts", "cmake", ".ci"}, {""})));
}

// The picture in docs/architecture.md is the order that is enforced.
TEST(Sources, TheDocumentedOrderIsTheEnforcedOne) {
  const SourceTree docs = read_tree(RAFTER_SOURCE_DIR, {"docs"}, {"architecture.md"});
  ASSERT_EQ(docs.size(), 1u);
  size_t last = 0;
  for (const std::string_view layer : layers()) {
    const size_t found = docs[0].text.find("\n" + std::string(layer) + "/ ");
    ASSERT_NE(found, std::string::npos) << layer;
    EXPECT_GT(found, last) << layer;
    last = found;
  }
}

}  // namespace
}  // namespace rafter::architecture
