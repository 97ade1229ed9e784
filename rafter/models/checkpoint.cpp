#include "rafter/models/checkpoint.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "rafter/base/error.h"
#include "rafter/base/mapped_file.h"
#include "rafter/formats/file_kind.h"
#include "rafter/models/checkpoint_state.h"
#include "rafter/models/tensor_names.h"

namespace rafter {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxConfig = 10'000'000;

std::string lower_extension(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension;
}

// The name of some .gguf file in a folder that has no config.json, for the remedy.
std::string remedy_for_folder(const std::string& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (lower_extension(entry.path()) == ".gguf" && entry.is_regular_file(ignored))
      return "give the file itself: " + in_quotes(entry.path().string());
  }
  return "download the whole model";
}

// Caches keep files under the hash of their content: a GGUF file is known by its first bytes. Safetensors are not, for they
// need the config.json beside them.
void require_gguf(const std::string& path, const std::string& extension) {
  const MappedFile file(path);
  constexpr std::string_view kMagic = "GGUF";
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  if (text.starts_with(kMagic)) return;
  throw input_error(
      {"the extension of model " + in_quotes(path),
       (extension.empty() ? "missing" : in_quotes(extension, 80)) + ", and the file is " + describe_file_kind(file.bytes()),
       "'.gguf' or '.safetensors', a GGUF file of any name, or a folder"});
}

}  // namespace

void Checkpoint::State::read_gguf() {
  gguf.emplace(path);
  if (const int64_t parts = gguf->integer("split.count").value_or(1); parts > 1) {
    throw input_error({"model " + in_quotes(path), fmt::format("one of {} parts", parts), "a whole model in one GGUF file",
                       "join the parts with 'llama-gguf-split --merge'"});
  }
  config = config_from_gguf(*gguf);
  TensorSource source{Naming::gguf, in_quotes(path), {}, [this](std::string_view name) { return gguf->find(name); }};
  for (const StoredTensor& tensor : gguf->tensors()) source.names.push_back(tensor.name);
  tensors = find_tensors(config, source);
}

void Checkpoint::State::read_hugging_face() {
  const std::string config_path = (fs::path(folder) / "config.json").string();
  std::error_code ignored;
  if (!fs::exists(config_path, ignored)) {
    if (path != folder) {
      throw input_error({"model " + in_quotes(path), "without a config.json", in_quotes(config_path) + ", which describes it",
                         "download it with the weights"});
    }
    throw input_error({"folder " + in_quotes(folder), "without a config.json",
                       "a checkpoint in Hugging Face's layout, or the path of a .gguf file", remedy_for_folder(folder)});
  }
  config = config_from_hf(read_text_file(config_path, kMaxConfig), config_path);
  safetensors.emplace(SafetensorsSet::open(path));
  tensors = find_tensors(config, {Naming::hugging_face, in_quotes(path), safetensors->names(),
                                  [this](std::string_view name) { return safetensors->find(name); }});
}

void Checkpoint::State::tally() {
  std::array<int64_t, kDTypeCount> bytes_of{};
  for_each_tensor(tensors, [&](const StoredTensor& tensor) {
    bytes_of[static_cast<size_t>(tensor.dtype)] += tensor.bytes;
    weight_bytes += tensor.bytes;
  });
  dtype = static_cast<DType>(std::max_element(bytes_of.begin(), bytes_of.end()) - bytes_of.begin());
}

Checkpoint::Checkpoint(std::unique_ptr<State> state) : state_(std::move(state)) {}
Checkpoint::~Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;

Checkpoint Checkpoint::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->path = path;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    throw input_error({"model " + in_quotes(path), "not there", "the path of a .gguf file, a .safetensors file or a folder",
                       "check the path"});
  }
  const std::string extension = lower_extension(path);
  if (fs::is_directory(status)) {
    state->folder = path;
    state->read_hugging_face();
  } else if (extension == ".gguf") {
    state->read_gguf();
  } else if (extension == ".safetensors") {
    const std::string parent = fs::path(path).parent_path().string();
    state->folder = parent.empty() ? "." : parent;
    state->read_hugging_face();
  } else {
    require_gguf(path, extension);
    state->read_gguf();
  }
  state->tally();
  return Checkpoint(std::move(state));
}

Checkpoint Checkpoint::random(const ModelConfig& config, DType dtype) {
  if (dtype == DType::i32) throw input_error({"the type of random weights", "i32", "a float or quantised type"});
  auto state = std::make_unique<State>();
  state->config = config;
  state->tensors = made_up_tensors(config, dtype);
  state->tally();
  return Checkpoint(std::move(state));
}

const ModelConfig& Checkpoint::config() const { return state_->config; }
const ModelTensors& Checkpoint::tensors() const { return state_->tensors; }
const std::string& Checkpoint::path() const { return state_->path; }
bool Checkpoint::is_random() const { return state_->path.empty(); }
DType Checkpoint::dtype() const { return state_->dtype; }
int64_t Checkpoint::weight_bytes() const { return state_->weight_bytes; }

bool Checkpoint::has_tokenizer() const {
  if (state_->gguf) return state_->gguf->has("tokenizer.ggml.tokens");
  std::error_code ignored;
  return !state_->folder.empty() && fs::exists(fs::path(state_->folder) / "tokenizer.json", ignored);
}

}  // namespace rafter
