// Writes GGUF files, good and bad. Every field that a reader must check can be set to something wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rafter/formats/gguf_header.h"
#include "rafter/formats/gguf_types.h"
#include "tests/support/bytes.h"

namespace rafter::test {

class GgufWriter {
 public:
  std::string magic = "GGUF";
  uint32_t version = 3;
  uint64_t alignment = 32;              // of the data; put("general.alignment", ...) tells readers of another
  std::optional<uint64_t> entry_count;  // what the header claims, where not the truth
  std::optional<uint64_t> tensor_count;

  struct Tensor {
    std::string name;
    uint32_t type = 0;
    std::vector<uint64_t> extents;  // in the file's order, innermost first
    Bytes data;
    std::optional<uint64_t> offset;  // where not the next free one
  };

  GgufWriter& put(std::string_view key, uint32_t value) { return scalar(key, GgufValueType::u32, value); }
  GgufWriter& put(std::string_view key, int32_t value) { return scalar(key, GgufValueType::i32, value); }
  GgufWriter& put(std::string_view key, uint64_t value) { return scalar(key, GgufValueType::u64, value); }
  GgufWriter& put(std::string_view key, int64_t value) { return scalar(key, GgufValueType::i64, value); }
  GgufWriter& put(std::string_view key, float value) { return scalar(key, GgufValueType::f32, value); }
  GgufWriter& put(std::string_view key, double value) { return scalar(key, GgufValueType::f64, value); }
  GgufWriter& put(std::string_view key, bool value) { return scalar(key, GgufValueType::boolean, static_cast<uint8_t>(value)); }
  GgufWriter& put(std::string_view key, const char* value) { return put(key, std::string_view(value)); }
  GgufWriter& put(std::string_view key, std::string_view value) { return put_raw(key, GgufValueType::text, text(value)); }
  GgufWriter& put(std::string_view key, const std::vector<std::string>& values) {
    Bytes out = array_start(GgufValueType::text, values.size());
    for (const std::string& value : values) append(out, text(value));
    return put_raw(key, GgufValueType::array, out);
  }
  GgufWriter& put(std::string_view key, const std::vector<float>& values) { return array(key, GgufValueType::f32, values); }
  GgufWriter& put(std::string_view key, const std::vector<int32_t>& values) { return array(key, GgufValueType::i32, values); }

  // A value as its bytes.
  GgufWriter& put_raw(std::string_view key, GgufValueType type, const Bytes& value) {
    append(entries_, text(key));
    append(entries_, static_cast<uint32_t>(type));
    append(entries_, value);
    ++entries_written_;
    return *this;
  }

  GgufWriter& add(Tensor tensor) {
    tensors_.push_back(std::move(tensor));
    return *this;
  }
  GgufWriter& add(std::string name, DType type, std::vector<uint64_t> extents, Bytes data) {
    return add({std::move(name), gguf_type_id(type), std::move(extents), std::move(data), std::nullopt});
  }
  std::vector<Tensor>& tensors() { return tensors_; }

  // The last tensor is not padded, so that every byte of the file counts.
  Bytes bytes() const {
    Bytes out, data;
    append(out, magic);
    append(out, version);
    append(out, tensor_count.value_or(tensors_.size()));
    append(out, entry_count.value_or(entries_written_));
    append(out, entries_);
    for (const Tensor& tensor : tensors_) {
      data.resize(round_up(data.size()));
      append(out, text(tensor.name));
      append(out, static_cast<uint32_t>(tensor.extents.size()));
      for (const uint64_t extent : tensor.extents) append(out, extent);
      append(out, tensor.type);
      append(out, tensor.offset.value_or(data.size()));
      append(data, tensor.data);
    }
    if (!data.empty()) out.resize(round_up(out.size()));
    append(out, data);
    return out;
  }

  static Bytes text(std::string_view value) {
    Bytes out;
    append(out, static_cast<uint64_t>(value.size()));
    append(out, value);
    return out;
  }
  static Bytes array_start(GgufValueType element, uint64_t count) {
    Bytes out;
    append(out, static_cast<uint32_t>(element));
    append(out, count);
    return out;
  }

 private:
  template <typename T>
  GgufWriter& scalar(std::string_view key, GgufValueType type, T value) {
    Bytes out;
    append(out, value);
    return put_raw(key, type, out);
  }
  template <typename T>
  GgufWriter& array(std::string_view key, GgufValueType element, const std::vector<T>& values) {
    Bytes out = array_start(element, values.size());
    append(out, bytes_of(values));
    return put_raw(key, GgufValueType::array, out);
  }
  size_t round_up(size_t size) const { return (size + alignment - 1) / alignment * alignment; }

  Bytes entries_;
  uint64_t entries_written_ = 0;
  std::vector<Tensor> tensors_;
};

}  // namespace rafter::test
