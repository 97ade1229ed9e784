#define PCRE2_CODE_UNIT_WIDTH 8
#include "rafter/formats/pretokenizer.h"

#include <pcre2.h>

#include <string>

#include "rafter/base/error.h"

namespace rafter {

namespace {

// The insides of character classes. The ranges after \p{L} and \p{N} are the letters and numbers that Unicode 15 and 16
// added; a PCRE2 that knows them already loses nothing by the repetition.
#define RAFTER_LETTERS                                                                                                  \
  R"(\p{L}\x{1c89}\x{1c8a}\x{a7cb}-\x{a7cd}\x{a7da}-\x{a7dc}\x{105c0}-\x{105f3}\x{10d4a}-\x{10d65}\x{10d6f}-\x{10d85})" \
  R"(\x{10ec2}-\x{10ec4}\x{1123f}\x{11240}\x{11380}-\x{11389}\x{1138b}\x{1138e}\x{11390}-\x{113b5}\x{113b7}\x{113d1})"  \
  R"(\x{113d3}\x{11bc0}-\x{11be0}\x{11f02}\x{11f04}-\x{11f10}\x{11f12}-\x{11f33}\x{1342f}\x{13441}-\x{13446})"          \
  R"(\x{13460}-\x{143fa}\x{16100}-\x{1611d}\x{16d40}-\x{16d6c}\x{18cff}\x{1b132}\x{1b155}\x{1df25}-\x{1df2a})"          \
  R"(\x{1e030}-\x{1e06d}\x{1e4d0}-\x{1e4eb}\x{1e5d0}-\x{1e5ed}\x{1e5f0}\x{2b739}\x{2ebf0}-\x{2ee5d}\x{31350}-\x{323af})"
#define RAFTER_NUMBERS                                                                                      \
  R"(\p{N}\x{10d40}-\x{10d49}\x{116d0}-\x{116e3}\x{11bf0}-\x{11bf9}\x{11f50}-\x{11f59}\x{16130}-\x{16139})" \
  R"(\x{16d70}-\x{16d79}\x{1ccf0}-\x{1ccf9}\x{1d2c0}-\x{1d2d3}\x{1e4f0}-\x{1e4f9}\x{1e5f1}-\x{1e5fa})"
// White space but for \r and \n, and the two.
#define RAFTER_BLANKS R"(\t\x0b\x0c \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})"
#define RAFTER_LINE_ENDS R"(\r\n)"
#define RAFTER_SPACES RAFTER_BLANKS RAFTER_LINE_ENDS

// All white space up to the last before other text, or one of it. The greedy repeat gives back one character at most.
#define RAFTER_SPACE_RUN "[" RAFTER_SPACES "]+(?![^" RAFTER_SPACES "])|[" RAFTER_SPACES "]++"

constexpr char kGpt2[] = "'(?:s|t|re|ve|m|ll|d)| ?[" RAFTER_LETTERS "]++| ?[" RAFTER_NUMBERS
                         "]++| ?[^" RAFTER_SPACES RAFTER_LETTERS RAFTER_NUMBERS "]++|" RAFTER_SPACE_RUN;

// \s*[\r\n]+, which is white space up to the last line end in it, is written without its backtracking:
// (?:blanks* line-ends+)+.
#define RAFTER_LLAMA3(numbers)                                                                                                 \
  "(?i:'(?:s|t|re|ve|m|ll|d))|[^" RAFTER_LINE_ENDS RAFTER_LETTERS RAFTER_NUMBERS "]?[" RAFTER_LETTERS "]++|" numbers           \
  "| ?[^" RAFTER_SPACES RAFTER_LETTERS RAFTER_NUMBERS "]++[" RAFTER_LINE_ENDS "]*+|(?:[" RAFTER_BLANKS "]*+[" RAFTER_LINE_ENDS \
  "]++)++|" RAFTER_SPACE_RUN
constexpr char kLlama3[] = RAFTER_LLAMA3("[" RAFTER_NUMBERS "]{1,3}+");
constexpr char kQwen2[] = RAFTER_LLAMA3("[" RAFTER_NUMBERS "]");

// Hugging Face's Digits asks Rust's char::is_numeric, which knows the numbers of Unicode 17 as well.
#define RAFTER_DIGITS RAFTER_NUMBERS R"(\x{11de0}-\x{11de9}\x{16ff4}-\x{16ff6})"
constexpr char kDigits[] = "[" RAFTER_DIGITS "]|[^" RAFTER_DIGITS "]++";

const char* pattern_of(Split split) {
  switch (split) {
    case Split::gpt2:
      return kGpt2;
    case Split::llama3:
      return kLlama3;
    case Split::qwen2:
      return kQwen2;
    case Split::digits:
      return kDigits;
  }
  return "";
}

std::string pcre_message(int code) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

struct Freer {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
using Code = std::unique_ptr<pcre2_code, Freer>;

Code compile(const char* pattern, bool jit) {
  int error = 0;
  size_t at = 0;
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern), PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error, &at, nullptr));
  if (!code) throw runtime_failure({fmt::format("PCRE2's message on a tokenizer pattern, at {}", at), pcre_message(error)});
  // Where the processor or the system's policy has no JIT, matching is interpreted and slower.
  if (jit) pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  return code;
}

// The longest prefix of at most `limit` bytes that ends between characters.
std::string_view slice(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 1 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) --limit;
  return text.substr(0, limit);
}

}  // namespace

struct Pretokenizer::State {
  std::vector<Code> steps;
  std::unique_ptr<pcre2_match_context, Freer> context;
  Limits limits;

  int match(const pcre2_code* code, std::string_view text, size_t from, uint32_t options, pcre2_match_data* data) const {
    return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from, PCRE2_NO_UTF_CHECK | options, data,
                       context.get());
  }

  // Where the word that starts at `from` ends. A pattern matches any text it is given at its very start.
  size_t word_end(const pcre2_code* code, std::string_view text, size_t from, pcre2_match_data* data) const {
    int count = match(code, text, from, 0, data);
    if (count < 0) {
      text = text.substr(0, from + slice(text.substr(from), limits.slice_bytes).size());
      count = match(code, text, from, PCRE2_NO_JIT, data);
    }
    if (count < 0) throw runtime_failure({"PCRE2's message on matching a tokenizer pattern", pcre_message(count)});
    return pcre2_get_ovector_pointer(data)[1];
  }
};

std::optional<Split> split_with_pattern(std::string_view regex) {
  if (regex == R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)") return Split::gpt2;
  constexpr std::string_view kHead = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})";
  constexpr std::string_view kTail = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  if (!regex.starts_with(kHead) || !regex.ends_with(kTail)) return std::nullopt;
  const std::string_view digits = regex.substr(kHead.size(), regex.size() - kHead.size() - kTail.size());
  if (digits.empty()) return Split::qwen2;
  if (digits == "{1,3}") return Split::llama3;
  return std::nullopt;
}

Pretokenizer::Pretokenizer(std::span<const Split> splits, const Limits& limits) : state_(std::make_unique<State>()) {
  for (const Split split : splits) state_->steps.push_back(compile(pattern_of(split), limits.jit));
  state_->context.reset(pcre2_match_context_create(nullptr));
  state_->limits = limits;
  if (!state_->context) throw std::bad_alloc();
  pcre2_set_match_limit(state_->context.get(), limits.matches);
  pcre2_set_depth_limit(state_->context.get(), limits.depth);
  pcre2_set_heap_limit(state_->context.get(), limits.heap_kib);
}

Pretokenizer::~Pretokenizer() = default;
Pretokenizer::Pretokenizer(Pretokenizer&&) noexcept = default;
Pretokenizer& Pretokenizer::operator=(Pretokenizer&&) noexcept = default;

void Pretokenizer::split(std::string_view text, std::vector<std::string_view>& words) const {
  words.clear();
  if (text.empty()) return;
  words.push_back(text);
  const std::unique_ptr<pcre2_match_data, Freer> data(pcre2_match_data_create(1, nullptr));
  if (!data) throw std::bad_alloc();
  std::vector<std::string_view> pieces;
  for (const Code& code : state_->steps) {
    pieces.swap(words);
    words.clear();
    for (const std::string_view piece : pieces) {
      for (size_t at = 0; at < piece.size();) {
        const size_t end = state_->word_end(code.get(), piece, at, data.get());
        words.push_back(piece.substr(at, end - at));
        at = end;
      }
    }
  }
}

}  // namespace rafter
