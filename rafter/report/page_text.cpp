#include "rafter/report/page_text.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "rafter/base/error.h"

namespace rafter {

namespace {

using Replacement = std::pair<std::string_view, std::string_view>;

// The first of the list that stands at the start of the text.
template <size_t N>
const Replacement* at_start(std::string_view text, const std::array<Replacement, N>& list) {
  for (const Replacement& r : list) {
    if (text.starts_with(r.first)) return &r;
  }
  return nullptr;
}

template <size_t N>
std::string replaced(std::string_view text, const std::array<Replacement, N>& list) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Replacement* r = at_start(text, list);
    out += r != nullptr ? r->second : text.substr(0, 1);
    text.remove_prefix(r != nullptr ? r->first.size() : 1);
  }
  return out;
}

constexpr std::array<Replacement, 18> kMarkup = {{{"&", "&amp;"},
                                                  {"<", "&lt;"},
                                                  {">", "&gt;"},
                                                  {"\"", "&quot;"},
                                                  {"'", "&#39;"},
                                                  {"\u2028", "\\u2028"},
                                                  {"\u2029", "\\u2029"},
                                                  {"\u200e", "\\u200e"},
                                                  {"\u200f", "\\u200f"},
                                                  {"\u202a", "\\u202a"},
                                                  {"\u202b", "\\u202b"},
                                                  {"\u202c", "\\u202c"},
                                                  {"\u202d", "\\u202d"},
                                                  {"\u202e", "\\u202e"},
                                                  {"\u2066", "\\u2066"},
                                                  {"\u2067", "\\u2067"},
                                                  {"\u2068", "\\u2068"},
                                                  {"\u2069", "\\u2069"}}};

// In JSON these stand inside strings only.
constexpr std::array<Replacement, 5> kJson = {
    {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}, {"\u2028", "\\u2028"}, {"\u2029", "\\u2029"}}};

int hex_value(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

}  // namespace

std::string html_text(std::string_view text) { return replaced(printable(text, std::numeric_limits<size_t>::max()), kMarkup); }

std::string json_block(const Json& document) {
  return replaced(document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), kJson);
}

std::string hash_source(std::string_view sha256_hex) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string base64;
  uint32_t bits = 0;
  int held = 0;
  for (const char c : sha256_hex) {
    bits = bits << 4 | static_cast<uint32_t>(hex_value(c));
    held += 4;
    if (held < 6) continue;
    held -= 6;
    base64 += kDigits[bits >> held & 63];
  }
  if (held > 0) base64 += kDigits[bits << (6 - held) & 63];
  base64.resize((base64.size() + 3) / 4 * 4, '=');
  return fmt::format("'sha256-{}'", base64);
}

}  // namespace rafter
