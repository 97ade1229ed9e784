#include "rafter/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "rafter/base/error.h"
#include "rafter/base/host_memory.h"
#include "rafter/base/units.h"

namespace rafter {

namespace {

// A file descriptor that closes itself.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// Opens a file, but nothing that would wait: the open of a named pipe lasts until somebody writes to it. The path is looked
// at first, since opening a pipe or a device tells its other end; O_NONBLOCK is for what takes the file's place in between.
int open_regular(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    throw input_error({in_quotes(path), S_ISDIR(status.st_mode) ? "a folder" : "not a regular file", "a file"});
  }
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd >= 0) return fd;
  throw input_error({"file " + in_quotes(path), std::string("not readable (") + std::strerror(errno) + ")",
                     "the path of a file", "check the path and its permissions"});
}

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const Descriptor file{open_regular(path)};
  struct stat status {};
  if (::fstat(file.fd, &status) != 0 || !S_ISREG(status.st_mode))
    throw input_error({in_quotes(path), "not a regular file", "a file"});
  if (status.st_size == 0)
    throw input_error({"file '" + printable(path, 400) + "'", "empty", "some content", "download it again"});
  size_ = static_cast<size_t>(status.st_size);
  void* mapping = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.fd, 0);
  if (mapping == MAP_FAILED) {
    const std::string reason = std::strerror(errno);
    const HostMemory memory = host_memory();
    const std::string room = memory.limit.empty() ? "" : ": what is free is " + describe(memory);
    throw runtime_failure({"mapping file " + in_quotes(path) + ", " + format_capacity(status.st_size) + " long",
                           "refused (" + reason + room + ")"});
  }
  data_ = static_cast<const std::byte*>(mapping);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::will_need() const { ::madvise(const_cast<std::byte*>(data_), size_, MADV_WILLNEED); }

std::string read_text_file(const std::string& path, int64_t limit) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  if (static_cast<int64_t>(bytes.size()) > limit) {
    throw input_error({"the size of '" + printable(path, 400) + "'", fmt::format("{} bytes", bytes.size()),
                       fmt::format("{} bytes or less", limit)});
  }
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace rafter
