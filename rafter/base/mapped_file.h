// A whole file, mapped read-only: pages are read when they are touched, and shared between processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rafter {

class MappedFile {
 public:
  // Throws an input Error where the path is missing, a folder, a pipe or a device, unreadable or empty.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Tells the kernel that all of it will be read soon.
  void will_need() const;

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// The whole of a small text file; an input Error above `limit` bytes.
std::string read_text_file(const std::string& path, int64_t limit);

}  // namespace rafter
