// The shards of a safetensors checkpoint as one set of tensors.
#include <filesystem>
#include <set>

#include "rafter/base/error.h"
#include "rafter/base/mapped_file.h"
#include "rafter/formats/json_text.h"
#include "rafter/formats/safetensors.h"

namespace rafter {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxIndex = 100'000'000;
constexpr size_t kMaxDepth = 16;
constexpr std::string_view kSingle = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";

// A name of a file in the index's own folder, with no way out of it.
bool is_bare_name(std::string_view name) {
  return !name.empty() && name[0] != '.' && name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

}  // namespace

std::map<std::string, std::string> parse_safetensors_index(std::string_view json, const std::string& origin) {
  const std::string where = in_quotes(origin);
  const JsonText text(json, where, kMaxDepth);
  simdjson::dom::object map;
  if (text.root()["weight_map"].get(map) != simdjson::SUCCESS) {
    throw input_error({where + ": 'weight_map'", "missing or not an object", "an object of tensor names and files"});
  }
  std::map<std::string, std::string> files;
  for (const auto& [name, value] : map) {
    const std::string tensor = fmt::format("{}: the file of tensor '{}'", where, printable(name));
    std::string_view file;
    if (value.get(file) != simdjson::SUCCESS || !is_bare_name(file)) {
      throw input_error({tensor, describe_json(value), "the name of a file in the same folder"});
    }
    if (!files.emplace(name, file).second) throw input_error({tensor, "given twice", "each tensor once"});
  }
  if (files.empty()) throw input_error({where + ": 'weight_map'", "empty", "at least one tensor"});
  return files;
}

SafetensorsSet SafetensorsSet::open(const std::string& path) {
  SafetensorsSet set;
  std::error_code ignored;
  const bool folder = fs::is_directory(path, ignored);
  const fs::path single = folder ? fs::path(path) / kSingle : fs::path(path);
  if (!folder || fs::exists(single, ignored)) {
    set.files_.emplace_back(single.string());
    for (const StoredTensor& tensor : set.files_[0].tensors()) set.tensors_.emplace(tensor.name, &tensor);
    return set;
  }
  const fs::path index = fs::path(path) / kIndex;
  if (!fs::exists(index, ignored)) {
    throw input_error({"folder " + in_quotes(path), "without weights", fmt::format("'{}' or '{}' in it", kSingle, kIndex),
                       "download the whole model"});
  }
  const std::map<std::string, std::string> files =
      parse_safetensors_index(read_text_file(index.string(), kMaxIndex), index.string());
  std::map<std::string, size_t> opened;  // file to its place in files_
  for (const auto& [tensor, file] : files) {
    if (opened.emplace(file, set.files_.size()).second) set.files_.emplace_back((fs::path(path) / file).string());
    const StoredTensor* stored = set.files_[opened.at(file)].find(tensor);
    if (stored == nullptr) {
      throw input_error({fmt::format("tensor {} of {}", in_quotes(tensor), in_quotes(index.string())),
                         "missing from " + in_quotes(file), "it there, as the index says", "download the model again"});
    }
    set.tensors_.emplace(tensor, stored);
  }
  return set;
}

const StoredTensor* SafetensorsSet::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : found->second;
}

std::vector<std::string_view> SafetensorsSet::names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  return names;
}

}  // namespace rafter
