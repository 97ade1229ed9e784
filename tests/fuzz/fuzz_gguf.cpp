// A GGUF file from its first byte to a model's config, tensors and tokenizer.
#include "rafter/formats/gguf.h"
#include "rafter/formats/tokenizer.h"
#include "rafter/models/config.h"
#include "rafter/models/tensor_names.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace rafter;
using fuzz::expect_only_input_errors;

// One question about each key, mostly of a type that it is not. Which one depends on the file, so that in the long run all
// are asked; asking all each time would spend the fuzzer's time on throwing.
void ask_each_key(const GgufFile& file, size_t which) {
  for (const std::string& key : file.keys()) {
    expect_only_input_errors([&] {
      switch (which++ % 6) {
        case 0:
          return void(file.integer(key));
        case 1:
          return void(file.real(key));
        case 2:
          return void(file.text(key));
        case 3:
          return void(file.texts(key));
        case 4:
          return void(file.integers(key));
        default:
          return void(file.reals(key));
      }
    });
  }
}

void read_model(const GgufFile& file) {
  const ModelConfig config = config_from_gguf(file);
  rope_frequencies(config);
  TensorSource source{Naming::gguf, "'fuzz'", {}, [&](std::string_view name) { return file.find(name); }};
  for (const StoredTensor& tensor : file.tensors()) source.names.push_back(tensor.name);
  find_tensors(config, source);
}

void read_tokenizer(const GgufFile& file) {
  const Tokenizer tokenizer = Tokenizer::from_gguf(file);
  tokenizer.decode(tokenizer.encode("Hello, w\xc3\xb6rld 123\n\n  <|im_end|>", SpecialTokens::parse), SpecialTokens::parse);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  expect_only_input_errors([&] {
    const GgufFile file(fuzz::as_bytes(data, size), "fuzz");
    volatile uint8_t seen = 0;
    for (const StoredTensor& tensor : file.tensors()) seen = seen ^ fuzz::touch(tensor.data, tensor.bytes);
    ask_each_key(file, size);
    expect_only_input_errors([&] { read_model(file); });
    expect_only_input_errors([&] { read_tokenizer(file); });
  });
  return 0;
}
