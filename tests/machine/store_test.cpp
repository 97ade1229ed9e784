#include "rafter/machine/store.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/errors.h"
#include "tests/support/temp_folder.h"

namespace rafter {
namespace {

namespace fs = std::filesystem;

// Sets a variable of the environment for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  }
  ~Variable() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

Machine machine_of(const std::string& hash) {
  Machine m;
  m.device.name = "A CPU";
  m.device.uuid_hash = hash;
  m.figures.push_back({"latency.l1", {}, "", "s", {1e-9, 0, 10, 0, 0, Series::steady}, ""});
  return m;
}

class Store : public testing::Test {
 protected:
  test::TempFolder folder;
  Variable cache{"XDG_CACHE_HOME", folder.path().c_str()};
};

TEST_F(Store, PathsFollowXdgCacheHome) {
  DeviceInfo info;
  info.uuid_hash = "00ff";
  EXPECT_EQ(machine_path(info), folder.path("rafter/machines/00ff.json"));
}

TEST_F(Store, PathsFallBackToHome) {
  DeviceInfo info;
  info.uuid_hash = "00ff";
  const Variable home("HOME", "/nowhere");
  {
    const Variable none("XDG_CACHE_HOME", nullptr);
    EXPECT_EQ(machine_path(info), "/nowhere/.cache/rafter/machines/00ff.json");
    const Variable homeless("HOME", nullptr);
    test::expect_input_error([&] { machine_path(info); }, {"cache folder", "HOME"});
  }
  const Variable relative("XDG_CACHE_HOME", "not/absolute");
  EXPECT_EQ(machine_path(info), "/nowhere/.cache/rafter/machines/00ff.json");
}

TEST_F(Store, SavesAndFindsAgain) {
  const Machine made = machine_of("abcd");
  EXPECT_FALSE(known_machine(made.device));
  save_machine(made, machine_path(made.device));
  save_machine(made, machine_path(made.device));  // over the first
  const auto found = known_machine(made.device);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->device.name, "A CPU");
  EXPECT_EQ(found->figures.size(), 1u);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder.path("rafter/machines"))) ++files;
  EXPECT_EQ(files, 1u);  // nothing half written is left beside it
}

TEST_F(Store, AFailedSaveLeavesTheOldFileAndNoOther) {
  const std::string path = folder.path("m.json");
  fs::create_directories(path + "/inside");  // a folder cannot be replaced by a file
  EXPECT_THROW(save_machine(machine_of("abcd"), path), Error);
  EXPECT_TRUE(fs::is_directory(path));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
  const std::string file = folder.write("plain", "x");
  EXPECT_THROW(save_machine(machine_of("abcd"), file + "/m.json"), Error);
}

TEST_F(Store, AFileOfAnotherDeviceIsNotTaken) {
  const Machine made = machine_of("abcd");
  DeviceInfo other;
  other.uuid_hash = "9999";
  save_machine(made, machine_path(other));
  test::expect_input_error([&] { known_machine(other); }, {"9999.json", "another device", "'abcd'", "rafter probe"});
}

TEST_F(Store, MissingForeignAndHugeFilesAreErrors) {
  test::expect_input_error([&] { load_machine(folder.path("none.json")); }, {"none.json", "missing", "rafter probe"});
  test::expect_input_error([&] { load_machine(folder.path()); }, {"no file"});
  test::expect_input_error([&] { load_machine(folder.write("a.json", "GGUF")); }, {"a.json: line 1, column 1", "not JSON"});
  test::expect_input_error([&] { load_machine(folder.write("b.json", "")); }, {"b.json", "not JSON"});
  const std::string huge = folder.write("huge.json", "{}");
  fs::resize_file(huge, int64_t{1} << 34);  // sparse
  test::expect_input_error([&] { load_machine(huge); }, {"huge.json", "17179869184 bytes", "8 MiB"});
}

TEST(Age, IsInTheUnitThatTells) {
  Machine m;
  m.date = "2026-01-31T12:00:00Z";
  const int64_t then = 1769860800;
  EXPECT_EQ(utc_date(then), m.date);
  EXPECT_EQ(age_text(m, then), "measured 0 minutes ago");
  EXPECT_EQ(age_text(m, then + 60), "measured 1 minute ago");
  EXPECT_EQ(age_text(m, then + 3599), "measured 59 minutes ago");
  EXPECT_EQ(age_text(m, then + 3600), "measured 1 hour ago");
  EXPECT_EQ(age_text(m, then + 47 * 3600), "measured 47 hours ago");
  EXPECT_EQ(age_text(m, then + 3 * 86400), "measured 3 days ago");
  EXPECT_EQ(age_text(m, then - 5), "measured on 2026-01-31, which is in the future");
  for (const char* date : {"", "yesterday", "2026-01-31", "2026-01-31T12:00:00Zx"}) {
    m.date = date;
    EXPECT_EQ(age_text(m, then), "measured at an unknown time") << date;
  }
}

}  // namespace
}  // namespace rafter
