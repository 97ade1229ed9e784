#include "rafter/formats/gguf_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <set>

#include "rafter/base/error.h"
#include "rafter/formats/byte_cursor.h"
#include "rafter/formats/file_kind.h"
#include "rafter/formats/gguf_types.h"

namespace rafter {

namespace {

struct ValueTypeInfo {
  std::string_view name;
  size_t bytes;
};

constexpr std::array<ValueTypeInfo, kGgufValueTypes> kValueTypes = {{{"u8", 1},
                                                                     {"i8", 1},
                                                                     {"u16", 2},
                                                                     {"i16", 2},
                                                                     {"u32", 4},
                                                                     {"i32", 4},
                                                                     {"f32", 4},
                                                                     {"bool", 1},
                                                                     {"text", 0},
                                                                     {"array", 0},
                                                                     {"u64", 8},
                                                                     {"i64", 8},
                                                                     {"f64", 8}}};

constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMaxAlignment = uint64_t{1} << 30;
constexpr int kMaxArrayDepth = 4;     // real files nest none; the limit bounds the recursion
constexpr size_t kMaxReserve = 4096;  // a count in a file is a claim: beyond this, memory follows what was really read

// Least bytes a value takes: a text has a length, an array the type and count of its elements.
uint64_t least_bytes(GgufValueType type) {
  if (type == GgufValueType::text) return sizeof(uint64_t);
  if (type == GgufValueType::array) return sizeof(uint32_t) + sizeof(uint64_t);
  return fixed_bytes(type);
}

class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> bytes, const std::string& path)
      : bytes_(bytes), path_(path), where_(in_quotes(path)), cursor_(bytes, path) {}

  GgufHeader read() {
    read_magic();
    header_.version = read_version();
    const auto tensors = cursor_.take<uint64_t>({"the number of tensors"});
    const auto entries = cursor_.take<uint64_t>({"the number of metadata entries"});
    read_entries(entries);
    read_tensors(tensors);
    return std::move(header_);
  }

 private:
  std::string tensor_part(std::string_view part, std::string_view tensor) const {
    return fmt::format("{}: {} of tensor '{}'", where_, part, printable(tensor));
  }

  void read_magic() {
    constexpr std::string_view kMagic = "GGUF";
    const std::string_view start(reinterpret_cast<const char*>(bytes_.data()), std::min(bytes_.size(), kMagic.size()));
    if (start != kMagic.substr(0, start.size()) || start.empty()) {
      throw wrong_kind_error(path_, bytes_, "a GGUF file, whose first bytes are \"GGUF\"");
    }
    cursor_.skip(kMagic.size(), {"the mark \"GGUF\""});
  }

  uint32_t read_version() {
    const auto version = cursor_.take<uint32_t>({"the version"});
    if (version == 2 || version == 3) return version;
    const bool big_endian = version != 0 && (version & 0xffffffu) == 0;
    throw input_error({where_ + ": the GGUF version",
                       big_endian ? fmt::format("{} in big-endian order", version >> 24) : std::to_string(version),
                       "2 or 3, little-endian", "convert the model again with a current convert_hf_to_gguf.py"});
  }

  void read_entries(uint64_t count) {
    constexpr uint64_t kLeast = sizeof(uint64_t) + sizeof(uint32_t) + 1;
    cursor_.require_each(count, kLeast, {"the metadata"});
    header_.entries.reserve(std::min<uint64_t>(count, kMaxReserve));
    std::set<std::string_view> seen;
    for (uint64_t i = 0; i < count; ++i) {
      const std::string_view key = cursor_.take_text({"a metadata key"});
      if (!seen.insert(key).second) {
        throw input_error({fmt::format("{}: metadata key '{}'", where_, printable(key)), "given twice", "each key once"});
      }
      header_.entries.push_back(read_entry(key));
    }
  }

  GgufEntry read_entry(std::string_view key) {
    GgufEntry entry{key, read_value_type(key), GgufValueType::u8, 1, 0};
    entry.element = entry.type;
    if (entry.type == GgufValueType::array) {
      entry.element = read_value_type(key);
      entry.count = cursor_.take<uint64_t>({"the length of array", key});
    }
    entry.offset = cursor_.position();
    skip_values(key, entry.element, entry.count, 1);
    return entry;
  }

  GgufValueType read_value_type(std::string_view key) {
    const auto type = cursor_.take<uint32_t>({"the type of metadata key", key});
    if (type >= kGgufValueTypes) {
      throw input_error({fmt::format("{}: the type of metadata key '{}'", where_, printable(key)), std::to_string(type),
                         fmt::format("0 to {}", kGgufValueTypes - 1), "download it again"});
    }
    return static_cast<GgufValueType>(type);
  }

  // Walks over values, so that all of them are known to lie inside the file.
  void skip_values(std::string_view key, GgufValueType type, uint64_t count, int depth) {
    if (depth > kMaxArrayDepth) {
      throw input_error({fmt::format("{}: metadata key '{}'", where_, printable(key)), "an array nested too deep",
                         fmt::format("{} levels or fewer", kMaxArrayDepth)});
    }
    cursor_.require_each(count, least_bytes(type), {"the value of metadata key", key});
    if (type == GgufValueType::text) {
      for (uint64_t i = 0; i < count; ++i) cursor_.take_text({"the value of metadata key", key});
    } else if (type == GgufValueType::array) {
      for (uint64_t i = 0; i < count; ++i) {
        const GgufValueType element = read_value_type(key);
        const auto length = cursor_.take<uint64_t>({"the length of array", key});
        skip_values(key, element, length, depth + 1);
      }
    } else {
      cursor_.skip(count * fixed_bytes(type), {"the value of metadata key", key});
    }
  }

  void read_tensors(uint64_t count) {
    constexpr uint64_t kLeast = sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint64_t);
    cursor_.require_each(count, kLeast, {"the list of tensors"});
    const uint64_t alignment = find_alignment();
    header_.tensors.reserve(std::min<uint64_t>(count, kMaxReserve));
    offsets_.reserve(std::min<uint64_t>(count, kMaxReserve));
    std::set<std::string_view> seen;
    for (uint64_t i = 0; i < count; ++i) {
      const std::string_view name = cursor_.take_text({"the name of a tensor"});
      if (!seen.insert(name).second) {
        throw input_error({fmt::format("{}: tensor '{}'", where_, printable(name)), "given twice", "each name once"});
      }
      header_.tensors.push_back(read_tensor(name, alignment));
    }
    if (count > 0) place_tensors(alignment);
  }

  uint64_t find_alignment() const {
    constexpr std::string_view kKey = "general.alignment";
    const auto entry =
        std::find_if(header_.entries.begin(), header_.entries.end(), [&](const GgufEntry& e) { return e.key == kKey; });
    if (entry == header_.entries.end()) return kDefaultAlignment;
    const std::string thing = where_ + ": general.alignment";
    constexpr std::string_view kExpected = "a u32 that is a power of two, 8 or more";
    if (entry->type != GgufValueType::u32) throw input_error({thing, std::string(name(entry->type)), std::string(kExpected)});
    const uint64_t alignment = ByteCursor(bytes_, path_, entry->offset).take<uint32_t>({"general.alignment"});
    if (alignment < 8 || alignment > kMaxAlignment || !std::has_single_bit(alignment)) {
      throw input_error({thing, std::to_string(alignment), std::string(kExpected)});
    }
    return alignment;
  }

  StoredTensor read_tensor(std::string_view name, uint64_t alignment) {
    StoredTensor tensor;
    tensor.name = name;
    tensor.shape = read_shape(name);
    const auto type = cursor_.take<uint32_t>({"the type of tensor", name});
    const std::optional<DType> dtype = gguf_dtype(type);
    if (!dtype) {
      throw input_error({tensor_part("the type", name), gguf_type_name(type),
                         "F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K or Q6_K",
                         "use a file of one of these types"});
    }
    tensor.dtype = *dtype;
    tensor.bytes = byte_size(tensor);
    const auto offset = cursor_.take<uint64_t>({"the offset of tensor", name});
    if (offset % alignment != 0) {
      throw input_error({tensor_part("the offset", name), std::to_string(offset), fmt::format("a multiple of {}", alignment)});
    }
    offsets_.push_back(offset);
    return tensor;
  }

  // The file lists the innermost extent first; Rafter's shapes put it last.
  Shape read_shape(std::string_view name) {
    const auto rank = cursor_.take<uint32_t>({"the rank of tensor", name});
    if (rank < 1 || rank > Shape::kMaxRank) {
      throw input_error({tensor_part("the rank", name), std::to_string(rank), fmt::format("1 to {}", Shape::kMaxRank)});
    }
    std::vector<int64_t> extents(rank);
    for (uint32_t i = 0; i < rank; ++i) {
      const auto extent = cursor_.take<int64_t>({"the shape of tensor", name});
      if (extent < 1) {
        throw input_error({tensor_part(fmt::format("dimension {}", i), name), std::to_string(extent), "1 or more"});
      }
      extents[rank - 1 - i] = extent;
    }
    return Shape(extents);
  }

  int64_t byte_size(const StoredTensor& tensor) const {
    int64_t rows = 1, bytes = 0;
    bool overflow = false;
    for (int axis = 0; axis + 1 < tensor.shape.rank(); ++axis) {
      overflow = overflow || __builtin_mul_overflow(rows, tensor.shape[axis], &rows);
    }
    const int64_t row = tensor.shape.last();
    const DTypeInfo& type = info(tensor.dtype);
    if (row % type.block_elements != 0) {
      throw input_error({tensor_part("the innermost dimension", tensor.name), std::to_string(row),
                         fmt::format("a multiple of {}, the block of {}", type.block_elements, type.name)});
    }
    overflow = overflow || __builtin_mul_overflow(row / type.block_elements, int64_t{type.block_bytes}, &bytes) ||
               __builtin_mul_overflow(bytes, rows, &bytes);
    if (overflow || static_cast<uint64_t>(bytes) > bytes_.size()) {
      throw input_error({tensor_part("the shape", tensor.name), tensor.shape.to_string() + ", more than the file holds",
                         fmt::format("at most {} bytes of {}", bytes_.size(), type.name), "download it again"});
    }
    return bytes;
  }

  // Offsets count from the first aligned byte after the list of tensors.
  void place_tensors(uint64_t alignment) {
    const uint64_t start = (cursor_.position() + alignment - 1) / alignment * alignment;
    const uint64_t room = bytes_.size() > start ? bytes_.size() - start : 0;
    for (size_t i = 0; i < offsets_.size(); ++i) {
      StoredTensor& tensor = header_.tensors[i];
      const auto bytes = static_cast<uint64_t>(tensor.bytes);
      if (offsets_[i] > room || bytes > room - offsets_[i]) {
        throw input_error({tensor_part("the data", tensor.name),
                           fmt::format("{} bytes at offset {}, past the end of the {} bytes of data", bytes, offsets_[i], room),
                           "a whole file", "download it again"});
      }
      tensor.data = bytes_.data() + start + offsets_[i];
    }
    check_disjoint();
  }

  void check_disjoint() const {
    std::vector<const StoredTensor*> order;
    order.reserve(header_.tensors.size());
    for (const StoredTensor& tensor : header_.tensors) order.push_back(&tensor);
    std::sort(order.begin(), order.end(), [](const StoredTensor* a, const StoredTensor* b) { return a->data < b->data; });
    for (size_t i = 1; i < order.size(); ++i) {
      if (order[i - 1]->data + order[i - 1]->bytes > order[i]->data) {
        throw input_error({tensor_part("the data", order[i]->name),
                           fmt::format("overlapping that of tensor '{}'", printable(order[i - 1]->name)), "tensors apart",
                           "download it again"});
      }
    }
  }

  std::span<const std::byte> bytes_;
  const std::string& path_;
  std::string where_;
  ByteCursor cursor_;
  GgufHeader header_;
  std::vector<uint64_t> offsets_;  // of the tensors, from the start of the data
};

}  // namespace

std::string_view name(GgufValueType type) { return kValueTypes.at(static_cast<size_t>(type)).name; }
size_t fixed_bytes(GgufValueType type) { return kValueTypes.at(static_cast<size_t>(type)).bytes; }

GgufHeader read_gguf_header(std::span<const std::byte> bytes, const std::string& path) {
  return HeaderReader(bytes, path).read();
}

}  // namespace rafter
