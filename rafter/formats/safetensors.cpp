#include "rafter/formats/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "rafter/base/error.h"
#include "rafter/base/mapped_file.h"
#include "rafter/formats/byte_cursor.h"
#include "rafter/formats/file_kind.h"
#include "rafter/formats/json_text.h"

namespace rafter {

namespace {

using simdjson::dom::element;

constexpr uint64_t kMaxHeader = 100'000'000;  // as the reference implementation has it
constexpr size_t kMaxDepth = 16;              // a header nests three levels
constexpr std::string_view kMetadata = "__metadata__";

// A tensor's bytes as the header gives them, counted from the end of the header.
struct Extent {
  uint64_t begin = 0, end = 0;
};

class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> bytes, const std::string& path)
      : bytes_(bytes), path_(path), where_(in_quotes(path)) {}

  std::vector<StoredTensor> read() {
    const std::string_view header = find_header();
    const JsonText json(header, where_ + ": the header", kMaxDepth);
    simdjson::dom::object entries;
    if (json.root().get(entries) != simdjson::SUCCESS) {
      throw input_error({where_ + ": the header", describe_json(json.root()), "a JSON object", "download it again"});
    }
    for (const auto& [name, value] : entries) {
      if (name != kMetadata) read_tensor(name, value);
    }
    place_tensors();
    return std::move(tensors_);
  }

 private:
  std::string_view find_header() {
    ByteCursor cursor(bytes_, path_);
    const Reading what{"the header"};
    // A file of another kind has some absurd length here: say what it is rather than what is wrong with the length.
    const bool plausible = bytes_.size() < 9 ? false : bytes_[8] == std::byte{'{'};
    if (bytes_.size() >= 9 && !plausible) {
      throw wrong_kind_error(path_, bytes_, "a safetensors file: a length in 8 bytes, then a JSON object");
    }
    const auto length = cursor.take<uint64_t>(what);
    if (length > kMaxHeader) {
      throw input_error({where_ + ": the length of the header", fmt::format("{} bytes", length),
                         fmt::format("{} bytes or fewer", kMaxHeader), "download it again"});
    }
    const size_t start = cursor.position();
    cursor.skip(length, what);
    data_ = bytes_.subspan(cursor.position());
    return {reinterpret_cast<const char*>(bytes_.data()) + start, static_cast<size_t>(length)};
  }

  std::string tensor_part(std::string_view part, std::string_view tensor) const {
    return fmt::format("{}: {} of tensor '{}'", where_, part, printable(tensor));
  }

  void read_tensor(std::string_view name, element value) {
    std::optional<element> dtype, shape, offsets;
    simdjson::dom::object fields;
    if (value.get(fields) != simdjson::SUCCESS) {
      throw input_error({tensor_part("the entry", name), describe_json(value), "an object", "download it again"});
    }
    for (const auto& [key, field] : fields) {
      std::optional<element>* slot = key == "dtype"          ? &dtype
                                     : key == "shape"        ? &shape
                                     : key == "data_offsets" ? &offsets
                                                             : nullptr;
      if (slot == nullptr) continue;
      if (slot->has_value()) throw input_error({tensor_part(in_quotes(key), name), "given twice", "it once"});
      *slot = field;
    }
    for (const auto& [key, slot] :
         {std::pair{"'dtype'", dtype}, std::pair{"'shape'", shape}, std::pair{"'data_offsets'", offsets}}) {
      if (!slot) throw input_error({tensor_part(key, name), "missing", "dtype, shape and data_offsets", "download it again"});
    }
    StoredTensor tensor;
    tensor.name = name;
    tensor.dtype = read_dtype(name, *dtype);
    tensor.shape = read_shape(name, *shape);
    const Extent extent = read_extent(name, *offsets);
    tensor.bytes = check_size(tensor, extent);
    tensors_.push_back(std::move(tensor));
    extents_.push_back(extent);
  }

  DType read_dtype(std::string_view name, element value) const {
    std::string_view text;
    if (value.get(text) == simdjson::SUCCESS) {
      if (text == "F32") return DType::f32;
      if (text == "F16") return DType::f16;
      if (text == "BF16") return DType::bf16;
    }
    throw input_error(
        {tensor_part("the dtype", name), describe_json(value), "F32, F16 or BF16", "use a checkpoint of one of these"});
  }

  Shape read_shape(std::string_view name, element value) const {
    simdjson::dom::array list;
    if (value.get(list) != simdjson::SUCCESS) {
      throw input_error({tensor_part("the shape", name), describe_json(value), "a list of integers"});
    }
    if (list.size() < 1 || list.size() > Shape::kMaxRank) {
      throw input_error({tensor_part("the rank", name), std::to_string(list.size()), fmt::format("1 to {}", Shape::kMaxRank)});
    }
    std::vector<int64_t> extents;
    for (const element dimension : list) {
      int64_t extent = 0;
      if (dimension.get(extent) != simdjson::SUCCESS || extent < 1) {
        throw input_error({tensor_part(fmt::format("dimension {}", extents.size()), name), describe_json(dimension),
                           "an integer of 1 or more"});
      }
      extents.push_back(extent);
    }
    return Shape(extents);
  }

  Extent read_extent(std::string_view name, element value) const {
    simdjson::dom::array list;
    Extent extent;
    if (value.get(list) != simdjson::SUCCESS || list.size() != 2 || list.at(0).get(extent.begin) != simdjson::SUCCESS ||
        list.at(1).get(extent.end) != simdjson::SUCCESS) {
      throw input_error({tensor_part("'data_offsets'", name), "not two byte offsets", "[begin, end], both 0 or more"});
    }
    if (extent.begin > extent.end || extent.end > data_.size()) {
      throw input_error({tensor_part("the data", name),
                         fmt::format("bytes {} to {} of the {} after the header", extent.begin, extent.end, data_.size()),
                         "a range that lies inside the file", "download it again"});
    }
    return extent;
  }

  int64_t check_size(const StoredTensor& tensor, const Extent& extent) const {
    int64_t bytes = info(tensor.dtype).block_bytes;
    bool overflow = false;
    for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
      overflow = overflow || __builtin_mul_overflow(bytes, tensor.shape[axis], &bytes);
    }
    if (overflow || static_cast<uint64_t>(bytes) != extent.end - extent.begin) {
      throw input_error({tensor_part("the data", tensor.name), fmt::format("{} bytes", extent.end - extent.begin),
                         overflow
                             ? fmt::format("more than 2^63, by its shape {}", tensor.shape.to_string())
                             : fmt::format("{}, by its shape {} of {}", bytes, tensor.shape.to_string(), name(tensor.dtype)),
                         "download it again"});
    }
    return bytes;
  }

  // In order of their bytes the tensors must cover the data exactly, so that nothing hides in a hole; as the reference.
  void place_tensors() {
    std::vector<size_t> order(tensors_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return extents_[a].begin < extents_[b].begin; });
    uint64_t covered = 0;
    for (const size_t i : order) {
      if (extents_[i].begin != covered) {
        throw input_error({tensor_part("the first byte", tensors_[i].name), fmt::format("at offset {}", extents_[i].begin),
                           fmt::format("{}, where the tensor before it ends", covered), "download it again"});
      }
      covered = extents_[i].end;
      tensors_[i].data = data_.data() + extents_[i].begin;
    }
    if (covered != data_.size()) {
      throw input_error({where_ + ": the data after the header", fmt::format("{} bytes", data_.size()),
                         fmt::format("{}, where the last tensor ends", covered), "download it again"});
    }
  }

  std::span<const std::byte> bytes_;
  const std::string& path_;
  std::string where_;
  std::span<const std::byte> data_;
  std::vector<StoredTensor> tensors_;
  std::vector<Extent> extents_;  // of the tensors, in the same order
};

}  // namespace

struct SafetensorsFile::State {
  std::optional<MappedFile> mapping;
  std::string path;
  std::vector<StoredTensor> tensors;
  std::map<std::string_view, const StoredTensor*> by_name;

  void read(std::span<const std::byte> bytes) {
    tensors = HeaderReader(bytes, path).read();
    for (const StoredTensor& tensor : tensors) {
      if (by_name.emplace(tensor.name, &tensor).second) continue;
      throw input_error({fmt::format("'{}': tensor '{}'", printable(path, 400), printable(tensor.name)), "given twice",
                         "each name once", "download it again"});
    }
  }
};

SafetensorsFile::SafetensorsFile(const std::string& path) : state_(std::make_unique<State>()) {
  state_->mapping.emplace(path);
  state_->path = path;
  state_->read(state_->mapping->bytes());
}

SafetensorsFile::SafetensorsFile(std::span<const std::byte> bytes, std::string name) : state_(std::make_unique<State>()) {
  state_->path = std::move(name);
  state_->read(bytes);
}

SafetensorsFile::~SafetensorsFile() = default;
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;

const std::string& SafetensorsFile::path() const { return state_->path; }
const std::vector<StoredTensor>& SafetensorsFile::tensors() const { return state_->tensors; }

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = state_->by_name.find(name);
  return found == state_->by_name.end() ? nullptr : found->second;
}

}  // namespace rafter
