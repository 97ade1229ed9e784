#include "rafter/measure/profiles/kernel_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace rafter {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '~'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void remove_all(std::string& text, std::string_view part) {
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) text.erase(at, part.size());
}

struct Split {
  std::string head;       // up to the parameters, without template arguments
  std::string arguments;  // of the last template in the head
};

// One walk with a depth: what is inside <...> is an argument, the first parenthesis outside ends the head.
Split split(std::string_view name) {
  Split parts;
  int depth = 0;
  for (const char c : name) {
    if (c == '<' && depth++ == 0) {
      parts.arguments.clear();
      continue;
    }
    if (c == '>' && depth > 0 && --depth == 0) continue;
    if (depth > 0) {
      parts.arguments += c;
    } else if (c == '(' || c == '[' || c == '{') {
      break;
    } else {
      parts.head += c;
    }
  }
  return parts;
}

// "f" of "void ns::f": the last word, which may follow a return type and namespaces.
std::string last_word(std::string_view head) {
  while (!head.empty() && !is_word(head.back())) head.remove_suffix(1);
  size_t start = head.size();
  while (start > 0 && is_word(head[start - 1])) --start;
  return std::string(head.substr(start));
}

bool is_plain_type(std::string_view word) {
  static constexpr std::array kPlain = {"int",   "unsigned", "long", "short", "char",   "bool",   "float", "double", "true",
                                        "false", "void",     "T1",   "T2",    "signed", "size_t", "half",  "__half"};
  return std::find(kPlain.begin(), kPlain.end(), word) != kPlain.end();
}

// The first template argument that is a name of something, rather than a number, a plain type or an enumerator's value.
std::string first_telling_argument(std::string_view arguments) {
  size_t start = 0;
  int depth = 0;
  for (size_t at = 0; at <= arguments.size(); ++at) {
    const char c = at < arguments.size() ? arguments[at] : ',';
    if (c == '<' || c == '(' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == '}') --depth;
    if (at < arguments.size() && (c != ',' || depth > 0)) continue;
    const std::string_view argument = arguments.substr(start, at - start);
    start = at + 1;
    const size_t first = argument.find_first_not_of(' ');
    if (first == std::string_view::npos || argument[first] == '(') continue;  // "(bool)1", "(int)4"
    std::string word = last_word(split(argument).head);
    if (!word.empty() && !is_digit(word[0]) && !is_plain_type(word)) return word;
  }
  return {};
}

bool is_wrapper(std::string_view word) {
  static constexpr std::array kWrappers = {"Kernel", "Kernel2", "kernel", "device_kernel", "DeviceKernel", "global_kernel"};
  return std::find(kWrappers.begin(), kWrappers.end(), word) != kWrappers.end();
}

bool is_generic(std::string_view word) {
  return word.find("elementwise_kernel") != std::string_view::npos || word == "reduce_kernel" || word == "_kernel_agent" ||
         word == "multi_tensor_apply_kernel" || word == "static_kernel";
}

// sm90_xmma_gemm_..._tilesize128x128x64_warpgroupsize1x1x1_...: what follows the tile is the same for most.
void cut_after_tile(std::string& word) {
  for (const std::string_view tail : {"_warpgroupsize", "_execute_"}) {
    if (const size_t at = word.find(tail); at != std::string::npos && at > 0) word.resize(at);
  }
}

// matmul_kernel_0d1d2d3de4c: argument numbers, each with d, e or c after it.
void cut_triton_signature(std::string& word) {
  const size_t at = word.rfind("_0");
  if (at == std::string::npos || at == 0) return;
  const std::string_view tail = std::string_view(word).substr(at + 1);
  const bool signature =
      tail.find('1') != std::string_view::npos && tail.find('d') != std::string_view::npos &&
      std::all_of(tail.begin(), tail.end(), [](char c) { return is_digit(c) || c == 'd' || c == 'e' || c == 'c'; });
  if (signature) word.resize(at);
}

// `part` in `text`, not followed by a digit ("f16" is not in "s16f168") and not after one of `not_after`.
bool holds(std::string_view text, std::string_view part, std::string_view not_after = "") {
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    const size_t end = at + part.size();
    const bool longer = end < text.size() && is_digit(text[end]) && is_digit(part.back());
    const bool other = at > 0 && not_after.find(text[at - 1]) != std::string_view::npos;
    if (!longer && !other) return true;
  }
  return false;
}

bool holds_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return holds(text, part); });
}

}  // namespace

std::string clean_kernel_name(std::string_view name) {
  std::string out(name);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return out;
}

std::string short_kernel_name(std::string_view name) {
  std::string text(name);
  for (const std::string_view part : {"(anonymous namespace)::", "<unnamed>::", "{anonymous}::"}) remove_all(text, part);
  const Split parts = split(text);
  std::string word = last_word(parts.head);
  if (word.empty()) return std::string(name);
  const std::string telling = first_telling_argument(parts.arguments);
  if (is_wrapper(word) && !telling.empty()) word = telling;
  cut_after_tile(word);
  cut_triton_signature(word);
  return is_generic(word) && !telling.empty() ? word + '<' + telling + '>' : word;
}

std::string dtype_in_kernel_name(std::string_view name) {
  std::string text(name);
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (holds_any(text, {"e4m3"})) return "fp8_e4m3";
  if (holds_any(text, {"e5m2"})) return "fp8_e5m2";
  if (holds_any(text, {"imma", "_i8", "s8s8", "i8i8"})) return "int8";
  const bool bf16 = holds_any(text, {"bf16", "bfloat16"});
  const bool f16 = holds_any(text, {"fp16", "float16_t", "half", "hgemm"}) || holds(text, "f16", "bp") || holds(text, "h16816");
  if (bf16 && f16) return {};
  if (bf16) return "bf16";
  if (f16 && !holds(text, "bfloat16")) return "f16";
  if (holds_any(text, {"tf32", "s1688gemm"})) return "tf32";
  if (holds_any(text, {"double", "dgemm", "f64"})) return "f64";
  if (holds_any(text, {"sgemm", "f32"}) || holds(text, "float", "b")) return "f32";
  return {};
}

Quantity opaque_element_bytes(std::string_view name) {
  constexpr std::string_view kOpaque = "OpaqueType<";
  const size_t at = name.find(kOpaque);
  if (at == std::string_view::npos) return std::nullopt;
  name.remove_prefix(at + kOpaque.size());
  int bytes = 0;
  const auto error = std::from_chars(name.data(), name.data() + name.size(), bytes).ec;
  return error == std::errc() && bytes > 0 ? Quantity(bytes) : std::nullopt;
}

void KernelNames::set(KernelRecord& kernel, std::string_view name) {
  const auto [found, is_new] = known_.try_emplace(std::string(name));
  Known& known = found->second;
  if (is_new) known = {clean_kernel_name(name), short_kernel_name(clean_kernel_name(name)), dtype_in_kernel_name(name)};
  kernel.name = known.full;
  kernel.short_name = known.brief;
  kernel.dtype = known.dtype;
}

}  // namespace rafter
