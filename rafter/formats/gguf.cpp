#include "rafter/formats/gguf.h"

#include <limits>
#include <map>
#include <utility>

#include "rafter/base/error.h"
#include "rafter/base/mapped_file.h"
#include "rafter/formats/byte_cursor.h"
#include "rafter/formats/gguf_header.h"

namespace rafter {

struct GgufFile::State {
  std::optional<MappedFile> mapping;
  std::span<const std::byte> bytes;
  std::string path;
  GgufHeader header;
  std::map<std::string_view, size_t> entry_of;   // key to its place in header.entries
  std::map<std::string_view, size_t> tensor_of;  // name to its place in header.tensors

  void read() {
    header = read_gguf_header(bytes, path);
    for (size_t i = 0; i < header.entries.size(); ++i) entry_of.emplace(header.entries[i].key, i);
    for (size_t i = 0; i < header.tensors.size(); ++i) tensor_of.emplace(header.tensors[i].name, i);
  }

  const GgufEntry* find(std::string_view key) const {
    const auto found = entry_of.find(key);
    return found == entry_of.end() ? nullptr : &header.entries[found->second];
  }

  ByteCursor values(const GgufEntry& entry) const { return {bytes, path, entry.offset}; }

  [[noreturn]] void refuse(const GgufEntry& entry, std::string_view expected) const {
    const bool array = entry.type == GgufValueType::array;
    throw input_error({fmt::format("{}: metadata key {}", in_quotes(path), in_quotes(entry.key, 80)),
                       array ? fmt::format("an array of {}", name(entry.element)) : std::string(name(entry.type)),
                       std::string(expected)});
  }

  const GgufEntry* find_scalar(std::string_view key, std::string_view expected) const {
    const GgufEntry* entry = find(key);
    if (entry != nullptr && entry->type == GgufValueType::array) refuse(*entry, expected);
    return entry;
  }

  const GgufEntry* find_array(std::string_view key, std::string_view expected) const {
    const GgufEntry* entry = find(key);
    if (entry != nullptr && entry->type != GgufValueType::array) refuse(*entry, expected);
    return entry;
  }

  // The next value of `entry`, which must be an integer type or bool.
  int64_t take_integer(ByteCursor& cursor, const GgufEntry& entry, std::string_view expected) const {
    const Reading what{"the value of metadata key", entry.key};
    switch (entry.element) {
      case GgufValueType::u8:
        return cursor.take<uint8_t>(what);
      case GgufValueType::i8:
        return cursor.take<int8_t>(what);
      case GgufValueType::u16:
        return cursor.take<uint16_t>(what);
      case GgufValueType::i16:
        return cursor.take<int16_t>(what);
      case GgufValueType::u32:
        return cursor.take<uint32_t>(what);
      case GgufValueType::i32:
        return cursor.take<int32_t>(what);
      case GgufValueType::boolean: {
        const auto value = cursor.take<uint8_t>(what);
        if (value <= 1) return value;
        throw input_error({fmt::format("{}: metadata key {}, a bool,", in_quotes(path), in_quotes(entry.key, 80)),
                           std::to_string(value), "0 or 1", "download it again"});
      }
      case GgufValueType::i64:
        return cursor.take<int64_t>(what);
      case GgufValueType::u64: {
        const auto value = cursor.take<uint64_t>(what);
        if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return static_cast<int64_t>(value);
        throw input_error({fmt::format("{}: metadata key {}", in_quotes(path), in_quotes(entry.key, 80)), std::to_string(value),
                           "an integer below 2^63"});
      }
      default:
        refuse(entry, expected);
    }
  }

  double take_real(ByteCursor& cursor, const GgufEntry& entry, std::string_view expected) const {
    const Reading what{"the value of metadata key", entry.key};
    if (entry.element == GgufValueType::f32) return cursor.take<float>(what);
    if (entry.element == GgufValueType::f64) return cursor.take<double>(what);
    return static_cast<double>(take_integer(cursor, entry, expected));
  }
};

GgufFile::GgufFile(const std::string& path) : state_(std::make_unique<State>()) {
  state_->mapping.emplace(path);
  state_->bytes = state_->mapping->bytes();
  state_->path = path;
  state_->read();
}

GgufFile::GgufFile(std::span<const std::byte> bytes, std::string name) : state_(std::make_unique<State>()) {
  state_->bytes = bytes;
  state_->path = std::move(name);
  state_->read();
}

GgufFile::~GgufFile() = default;
GgufFile::GgufFile(GgufFile&&) noexcept = default;

const std::string& GgufFile::path() const { return state_->path; }
uint32_t GgufFile::version() const { return state_->header.version; }
bool GgufFile::has(std::string_view key) const { return state_->find(key) != nullptr; }

std::optional<int64_t> GgufFile::integer(std::string_view key) const {
  constexpr std::string_view kExpected = "an integer";
  const GgufEntry* entry = state_->find_scalar(key, kExpected);
  if (entry == nullptr) return std::nullopt;
  ByteCursor cursor = state_->values(*entry);
  return state_->take_integer(cursor, *entry, kExpected);
}

std::optional<double> GgufFile::real(std::string_view key) const {
  constexpr std::string_view kExpected = "a number";
  const GgufEntry* entry = state_->find_scalar(key, kExpected);
  if (entry == nullptr) return std::nullopt;
  ByteCursor cursor = state_->values(*entry);
  return state_->take_real(cursor, *entry, kExpected);
}

std::optional<std::string> GgufFile::text(std::string_view key) const {
  const GgufEntry* entry = state_->find_scalar(key, "text");
  if (entry == nullptr) return std::nullopt;
  if (entry->type != GgufValueType::text) state_->refuse(*entry, "text");
  return std::string(state_->values(*entry).take_text({"the value of metadata key", key}));
}

std::vector<std::string_view> GgufFile::texts(std::string_view key) const {
  constexpr std::string_view kExpected = "an array of text";
  const GgufEntry* entry = state_->find_array(key, kExpected);
  std::vector<std::string_view> texts;
  if (entry == nullptr) return texts;
  if (entry->element != GgufValueType::text) state_->refuse(*entry, kExpected);
  texts.reserve(static_cast<size_t>(entry->count));  // proved to be no more than the file holds
  ByteCursor cursor = state_->values(*entry);
  for (uint64_t i = 0; i < entry->count; ++i) texts.push_back(cursor.take_text({"the value of metadata key", key}));
  return texts;
}

std::vector<int64_t> GgufFile::integers(std::string_view key) const {
  constexpr std::string_view kExpected = "an array of integers";
  const GgufEntry* entry = state_->find_array(key, kExpected);
  std::vector<int64_t> values;
  if (entry == nullptr) return values;
  ByteCursor cursor = state_->values(*entry);
  for (uint64_t i = 0; i < entry->count; ++i) values.push_back(state_->take_integer(cursor, *entry, kExpected));
  return values;
}

std::vector<float> GgufFile::reals(std::string_view key) const {
  constexpr std::string_view kExpected = "an array of numbers";
  const GgufEntry* entry = state_->find_array(key, kExpected);
  std::vector<float> values;
  if (entry == nullptr) return values;
  ByteCursor cursor = state_->values(*entry);
  for (uint64_t i = 0; i < entry->count; ++i)
    values.push_back(static_cast<float>(state_->take_real(cursor, *entry, kExpected)));
  return values;
}

std::vector<std::string> GgufFile::keys() const {
  std::vector<std::string> keys;
  for (const GgufEntry& entry : state_->header.entries) keys.emplace_back(entry.key);
  return keys;
}

const std::vector<StoredTensor>& GgufFile::tensors() const { return state_->header.tensors; }

const StoredTensor* GgufFile::find(std::string_view name) const {
  const auto found = state_->tensor_of.find(name);
  return found == state_->tensor_of.end() ? nullptr : &state_->header.tensors[found->second];
}

}  // namespace rafter
