// GGUF version 2 and 3, mapped and checked: every offset, count and type is proved to lie inside the file before
// anything is returned, so a reader downstream needs no check of its own.
// Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rafter/formats/stored_tensor.h"

namespace rafter {

class GgufFile {
 public:
  // Throws an input Error that names the file, the entry at fault and what was expected.
  explicit GgufFile(const std::string& path);
  // The same over bytes in memory, which must outlive the object: for tests and fuzzing.
  GgufFile(std::span<const std::byte> bytes, std::string name);
  ~GgufFile();
  GgufFile(GgufFile&&) noexcept;

  const std::string& path() const;
  uint32_t version() const;

  // Metadata. Absent keys give nullopt (or an empty vector); a key of another type is an input Error.
  bool has(std::string_view key) const;
  std::optional<int64_t> integer(std::string_view key) const;  // any integer type or bool
  std::optional<double> real(std::string_view key) const;      // f32, f64, or an integer
  std::optional<std::string> text(std::string_view key) const;
  std::vector<std::string_view> texts(std::string_view key) const;  // views into the mapping
  std::vector<int64_t> integers(std::string_view key) const;
  std::vector<float> reals(std::string_view key) const;
  std::vector<std::string> keys() const;

  const std::vector<StoredTensor>& tensors() const;
  const StoredTensor* find(std::string_view name) const;  // null where there is none

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rafter
