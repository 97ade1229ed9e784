// Nsight Systems' database: whole, with tables and columns absent, untimed and unnamed kernels, and files that are none.
#include "rafter/measure/profiles/nsys_sqlite.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "rafter/measure/profiles/profile.h"
#include "tests/support/errors.h"
#include "tests/support/temp_folder.h"

namespace rafter {
namespace {

using test::expect_input_error;
using test::TempFolder;

constexpr const char* kStrings =
    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
    "INSERT INTO StringIds VALUES(1, 'void copy<float>(const float*, float*)'), (2, 'copy'), (3, 'gemm_bf16');";
constexpr const char* kKernels =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, demangledName "
    "INTEGER,"
    " shortName INTEGER, registersPerThread INTEGER, localMemoryPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER,"
    " blockX INTEGER, blockY INTEGER, blockZ INTEGER, graphNodeId INTEGER);";

class NsysSqlite : public ::testing::Test {
 protected:
  std::string make(const std::string& sql, const std::string& name = "report.sqlite") {
    const std::string path = folder_.path(name);
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK)
        << (message == nullptr ? "" : message);
    sqlite3_close(database);
    return path;
  }
  TempFolder folder_;
};

TEST_F(NsysSqlite, ReadsKernelsTransfersAndGaps) {
  const std::string path = make(
      std::string(kStrings) + kKernels +
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
      // The second of stream 7 by time comes first; a graph node on stream 7 after the copy; stream 8 overlaps.
      " (3000, 5000, 0, 7, 1, 2, 32, 0, 132, 2, 1, 256, 1, 1, NULL),"
      " (1000, 2000, 0, 7, 3, 3, 168, 16, 1, 1, 1, 128, 1, 1, NULL),"
      " (7000, 7500, 0, 7, 1, 2, 32, 0, 132, 2, 1, 256, 1, 1, 42),"
      " (1500, 9000, 0, 8, 3, 3, 168, 16, 1, 1, 1, 128, 1, 1, NULL);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, bytes INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (5100, 6900, 0, 7, 4096);"
      "CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT); INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H200');");
  const Profile profile = read_profile(path);
  EXPECT_EQ(profile.kind, ProfileKind::nsys_sqlite);
  EXPECT_EQ(profile.device, "NVIDIA H200");
  ASSERT_EQ(profile.kernels.size(), 4u);
  const KernelRecord& first = profile.kernels[0];
  EXPECT_EQ(first.name, "gemm_bf16");
  EXPECT_EQ(first.dtype, "bf16");
  EXPECT_DOUBLE_EQ(first.seconds.value(), 1e-6);
  EXPECT_FALSE(first.gap_seconds.has_value()) << "nothing came before it";
  EXPECT_EQ(first.registers_per_thread, 168.0);
  EXPECT_EQ(first.local_bytes_per_thread, 16.0);
  EXPECT_EQ(profile.kernels[1].stream, 8) << "in the order of time";
  EXPECT_FALSE(profile.kernels[1].gap_seconds.has_value());
  const KernelRecord& second = profile.kernels[2];
  EXPECT_EQ(second.name, "void copy<float>(const float*, float*)");
  EXPECT_EQ(second.short_name, "copy");
  EXPECT_EQ(second.grid, (Dim3{132, 2, 1}));
  EXPECT_EQ(second.block, (Dim3{256, 1, 1}));
  EXPECT_NEAR(second.gap_seconds.value(), 1e-6, 1e-12);
  EXPECT_FALSE(second.in_graph);
  EXPECT_NEAR(profile.kernels[3].gap_seconds.value(), 0.1e-6, 1e-12) << "since the copy, not since the kernel";
  EXPECT_TRUE(profile.kernels[3].in_graph);
  EXPECT_EQ(profile.copies.count, 1);
  EXPECT_DOUBLE_EQ(profile.copies.seconds, 1.8e-6);
  EXPECT_DOUBLE_EQ(profile.copies.bytes, 4096);
  EXPECT_EQ(profile.fills.count, 0) << "no such table";
  EXPECT_TRUE(profile.remarks.empty());
}

TEST_F(NsysSqlite, UntimedKernelsAreKeptWithoutATime) {
  const Profile profile =
      read_nsys_sqlite(make(std::string(kStrings) + kKernels +
                            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, streamId, demangledName) VALUES"
                            " (0, 0, 7, 1), (1000, 2000, 7, 1), (5000, 4000, 7, 1);"));
  ASSERT_EQ(profile.kernels.size(), 3u);
  EXPECT_TRUE(profile.kernels[0].seconds.has_value());
  EXPECT_FALSE(profile.kernels[1].seconds.has_value());
  EXPECT_FALSE(profile.kernels[2].seconds.has_value()) << "an end before its start";
  EXPECT_FALSE(profile.kernels[0].gap_seconds.has_value()) << "what was not timed ends at no time";
  ASSERT_EQ(profile.remarks.size(), 1u);
  EXPECT_NE(profile.remarks[0].find("2 kernels were not timed"), std::string::npos);
}

TEST_F(NsysSqlite, AbsentColumnsAndStringsAreTolerated) {
  const Profile profile = read_nsys_sqlite(
      make("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, \"end\" INTEGER, shortName INTEGER, \"odd\"\"column\" TEXT);"
           "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 30, 5, 'x');"));
  ASSERT_EQ(profile.kernels.size(), 1u);
  EXPECT_EQ(profile.kernels[0].name, "(unnamed)");
  EXPECT_NEAR(profile.kernels[0].seconds.value(), 20e-9, 1e-15);
  EXPECT_FALSE(profile.kernels[0].grid.has_value());
  EXPECT_FALSE(profile.kernels[0].stream.has_value());
  EXPECT_NE(profile.remarks.at(0).find("1 kernels have no name"), std::string::npos);
}

TEST_F(NsysSqlite, TheShortNameServesWhereTheFullIsMissing) {
  const Profile profile = read_nsys_sqlite(
      make(std::string(kStrings) + kKernels +
           "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, demangledName, shortName) VALUES (1, 2, 99, 2);"));
  EXPECT_EQ(profile.kernels[0].name, "copy");
}

TEST_F(NsysSqlite, OtherDatabasesAreRefused) {
  expect_input_error(
      [&] { read_profile(make(kStrings, "nokernel.sqlite")); },
      {"nokernel.sqlite", "Nsight Systems database without the table CUPTI_ACTIVITY_KIND_KERNEL", "--trace=cuda"});
  expect_input_error([&] { read_profile(make("CREATE TABLE songs(id INTEGER);", "songs.db")); },
                     {"songs.db", "a database without the table"});
  expect_input_error([&] { read_profile(make("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER);", "noend.db")); },
                     {"noend.db", "without the column 'end'"});
  expect_input_error([&] { read_profile(make(kKernels, "empty.db")); }, {"empty.db", "without the table"});
  // A view could compute for ever: it is no table.
  expect_input_error(
      [&] {
        read_profile(make(
            "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n)"
            " SELECT start, start + 1 AS end FROM n;",
            "view.db"));
      },
      {"view.db", "without the table"});
}

TEST_F(NsysSqlite, DamageIsOneInputError) {
  std::string rows = std::string(kStrings) + kKernels;
  for (int i = 0; i < 2000; ++i) rows += "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, demangledName) VALUES (1, 2, 1);";
  const std::string path = make("BEGIN;" + rows + "COMMIT;");
  const uintmax_t size = std::filesystem::file_size(path);
  for (const uintmax_t keep : {size / 2, size / 4, uintmax_t{4096}, uintmax_t{100}, uintmax_t{16}}) {
    std::filesystem::resize_file(path, keep);
    expect_input_error([&] { read_profile(path); }, {"report.sqlite"});
  }
}

TEST_F(NsysSqlite, APathIsNoListOfOptions) {
  const std::string sql =
      std::string(kStrings) + kKernels + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, demangledName) VALUES (1, 2, 1);";
  EXPECT_EQ(read_profile(make(sql, "a b?mode=memory&x#y%41.sqlite")).kernels.size(), 1u);
}

}  // namespace
}  // namespace rafter
