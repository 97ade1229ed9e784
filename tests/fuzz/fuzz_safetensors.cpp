// What a Hugging Face folder holds apart from its tokenizer: a safetensors file, and, for input that starts like JSON, the
// index of its shards and its config.json.
#include "rafter/formats/safetensors.h"

#include "rafter/models/config.h"
#include "tests/fuzz/fuzz.h"

using namespace rafter;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::expect_only_input_errors([&] {
    const SafetensorsFile file(fuzz::as_bytes(data, size), "fuzz");
    volatile uint8_t seen = 0;
    for (const StoredTensor& tensor : file.tensors()) seen = seen ^ fuzz::touch(tensor.data, tensor.bytes);
  });
  const std::string_view text = fuzz::as_text(data, size);
  if (text.substr(0, 1) == "{") {
    fuzz::expect_only_input_errors([&] { parse_safetensors_index(text, "fuzz"); });
    fuzz::expect_only_input_errors([&] { rope_frequencies(config_from_hf(text, "fuzz")); });
  }
  return 0;
}
