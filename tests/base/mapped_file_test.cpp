#include "rafter/base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "rafter/base/error.h"

namespace rafter {
namespace {

std::string message_of(const std::string& path) {
  try {
    const MappedFile file(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_status(), 2);
    return error.what();
  }
  return {};
}

TEST(MappedFile, HoldsTheBytes) {
  const std::string path = ::testing::TempDir() + "mapped.bin";
  std::ofstream(path) << "hello";
  const MappedFile file(path);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()), "hello");
  EXPECT_EQ(read_text_file(path, 5), "hello");
  EXPECT_THROW(read_text_file(path, 4), Error);
}

TEST(MappedFile, SaysWhatIsWrongWithAPath) {
  EXPECT_NE(message_of("/no/such/file").find("No such file"), std::string::npos);
  EXPECT_NE(message_of(::testing::TempDir()).find("a folder"), std::string::npos);
  const std::string empty = ::testing::TempDir() + "empty.bin";
  std::ofstream{empty};
  EXPECT_NE(message_of(empty).find("empty"), std::string::npos);
  EXPECT_NE(message_of("/dev/null").find("not a regular file"), std::string::npos);
}

// A named pipe that nobody writes to: to open it in the usual way is to wait for ever.
TEST(MappedFile, RefusesANamedPipeAtOnce) {
  const std::string pipe = ::testing::TempDir() + "mapped.pipe";
  std::filesystem::remove(pipe);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(message_of(pipe).find("not a regular file"), std::string::npos);
  std::filesystem::remove(pipe);
}

}  // namespace
}  // namespace rafter
