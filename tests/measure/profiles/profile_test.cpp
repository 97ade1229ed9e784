// A file's kind is told by what is in it; what is none of them is refused with what was expected. And Nsight Compute's own
// reports, which a made-up `ncu` on PATH exports.
#include "rafter/measure/profiles/profile.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "rafter/measure/profiles/ncu_report.h"
#include "tests/support/errors.h"
#include "tests/support/profile_files.h"
#include "tests/support/temp_folder.h"

namespace rafter {
namespace {

using test::details_row;
using test::details_titles;
using test::expect_input_error;
using test::TempFolder;

const std::string kReport("NVR\0\x01\x02\x03\0", 8);

// PATH with one folder alone, until it goes.
class OnlyPath {
 public:
  explicit OnlyPath(const std::string& folder) : before_(std::getenv("PATH")) { ::setenv("PATH", folder.c_str(), 1); }
  ~OnlyPath() { ::setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_;
};

class NcuReport : public ::testing::Test {
 protected:
  // A script of that name; it may use /bin/cat and its kin, by their full paths.
  void fake_ncu(const std::string& body) {
    const std::string path = folder_.write("bin/ncu", "#!/bin/sh\n" + body);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  TempFolder folder_;
};

TEST(ReadProfile, KnowsKindsByContent) {
  TempFolder folder;
  const std::string csv = details_titles() + details_row("0", "k", "Duration", "us", "12.5");
  EXPECT_EQ(read_profile(folder.write("a.txt", csv)).kind, ProfileKind::ncu_csv);
  EXPECT_EQ(
      read_profile(folder.write("b.csv", R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1}]})"))
          .kind,
      ProfileKind::pytorch_trace);
  EXPECT_EQ(read_profile(folder.write("c", R"({"schema": "rafter.results/1", "rows": [{"op": "softmax", "impl": "x"}]})")).kind,
            ProfileKind::rafter_results);
}

TEST(ReadProfile, RefusesWhatIsNone) {
  TempFolder folder;
  expect_input_error([&] { read_profile(folder.path("gone")); }, {"gone", "not readable"});
  expect_input_error([&] { read_profile(folder.path()); }, {"a folder"});
  expect_input_error([&] { read_profile(folder.write("empty", "")); }, {"empty"});
  expect_input_error([&] { read_profile(folder.write("page.csv", "<!DOCTYPE html><html>")); },
                     {"page.csv", "line 1, column 1", "HTML", "Nsight Compute CSV"});
  expect_input_error([&] { read_profile(folder.write("songs.csv", "title,artist\nx,y\n")); },
                     {"songs.csv", "Nsight Compute CSV"});
  expect_input_error([&] { read_profile(folder.write("any.json", "{\"a\": 1}")); },
                     {"any.json", "without a trace event", "rafter bench"});
  expect_input_error([&] { read_profile(folder.write("noise", std::string("\x01\x02\0\x03", 4))); }, {"noise", "unknown kind"});
  expect_input_error([&] { read_profile(folder.write("r.nsys-rep", std::string("\x01\x02\0\x03", 4))); },
                     {"r.nsys-rep", "Nsight Systems", "nsys export --type sqlite"});
}

TEST_F(NcuReport, IsExportedByNcu) {
  fake_ncu("[ \"$1 $3 $4 $5\" = '--import --page raw --csv' ] || exit 3\n/bin/cat \"$2.table\"\n");
  const OnlyPath path(folder_.path("bin"));
  const std::string report = folder_.write("it's; a report.ncu-rep", kReport);
  folder_.write("it's; a report.ncu-rep.table", details_titles() + details_row("0", "k", "Duration", "us", "12.5"));
  const Profile profile = read_profile(report);
  ASSERT_EQ(profile.kernels.size(), 1u);
  EXPECT_DOUBLE_EQ(profile.kernels[0].seconds.value(), 12.5e-6);
  EXPECT_EQ(profile.path, report);
}

TEST_F(NcuReport, WithoutNcuTheErrorSaysHowToExportIt) {
  const OnlyPath path(folder_.path("nothing"));
  expect_input_error([&] { read_profile(folder_.write("r", kReport)); },
                     {"no 'ncu' on PATH", "ncu --import", "--page raw --csv > "});
}

TEST_F(NcuReport, AFailingNcuIsNamed) {
  fake_ncu("echo '==ERROR== cannot open'\nexit 7\n");
  const OnlyPath path(folder_.path("bin"));
  expect_input_error([&] { read_profile(folder_.write("r", kReport)); }, {"status 7", "ncu --import"});
}

TEST_F(NcuReport, AHangingNcuIsEnded) {
  fake_ncu("echo x\n/bin/sleep 60\n");
  const OnlyPath path(folder_.path("bin"));
  const auto start = std::chrono::steady_clock::now();
  expect_input_error([&] { export_ncu_report(folder_.write("r", kReport), std::chrono::milliseconds(200)); },
                     {"took longer than 0.2 s"});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace rafter
