// A tokenizer.json, and what it does to a fixed text: ids in range, and bytes that come back as they went in wherever the
// vocabulary covers them.
#include "rafter/formats/tokenizer.h"
#include "tests/fuzz/fuzz.h"

using namespace rafter;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr std::string_view kText = "Hello, w\xc3\xb6rld 123's\r\n\n  \t e\xcc\x81 <|im_end|> \xff\xf0\x9f\x99\x82 don't";
  fuzz::expect_only_input_errors([&] {
    const Tokenizer tokenizer = Tokenizer::from_json(fuzz::as_text(data, size));
    for (const SpecialTokens specials : {SpecialTokens::as_text, SpecialTokens::parse}) {
      const std::vector<int32_t> tokens = tokenizer.encode(kText, specials);
      for (const int32_t token : tokens) {
        if (token < 0 || token >= tokenizer.size()) __builtin_trap();
        tokenizer.bytes(token);
      }
      tokenizer.decode(tokens, specials);
      StreamDecoder decoder(tokenizer);
      for (const int32_t token : tokens) decoder.push(token);
      decoder.finish();
    }
  });
  return 0;
}
