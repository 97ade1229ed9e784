// Safetensors, mapped and checked: one file, or the shards that an index names. Every offset and shape is proved to fit
// before anything is returned. Format: https://github.com/huggingface/safetensors
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rafter/formats/stored_tensor.h"

namespace rafter {

class SafetensorsFile {
 public:
  // Throws an input Error that names the file, the tensor at fault and what was expected: dtypes other than F32, F16 and
  // BF16, a rank over 4, tensors that overlap or leave a hole, a header over 100 MB.
  explicit SafetensorsFile(const std::string& path);
  // The same over bytes in memory, which must outlive the object: for tests and fuzzing.
  SafetensorsFile(std::span<const std::byte> bytes, std::string name);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&&) noexcept;

  const std::string& path() const;
  const std::vector<StoredTensor>& tensors() const;       // in the header's order
  const StoredTensor* find(std::string_view name) const;  // null where there is none

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All tensors of a model: of one .safetensors file, or of a folder's model.safetensors or, where that is absent, of the
// shards listed in its model.safetensors.index.json.
class SafetensorsSet {
 public:
  // An input Error also where the folder has neither, where a shard is missing, or where one lacks a tensor that the
  // index says it holds.
  static SafetensorsSet open(const std::string& path);

  const StoredTensor* find(std::string_view name) const;  // null where there is none
  std::vector<std::string_view> names() const;            // sorted

 private:
  std::vector<SafetensorsFile> files_;
  std::map<std::string, const StoredTensor*, std::less<>> tensors_;
};

// The index's "weight_map": tensor to file. Files are bare names: an index that leads out of its folder is an input Error.
std::map<std::string, std::string> parse_safetensors_index(std::string_view json, const std::string& origin);

}  // namespace rafter
