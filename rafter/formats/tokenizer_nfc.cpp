#include "rafter/formats/tokenizer_nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "rafter/base/error.h"
#include "rafter/formats/tokenizer_utf8.h"

namespace rafter {

namespace {

// Characters since Unicode 10 that have a combining class or compose, up to Unicode 18.
struct Range {
  char32_t first, last;
};
constexpr Range kAfterUnicode9[] = {
    {0x005c8, 0x005c9}, {0x007fd, 0x007fd}, {0x00897, 0x0089f}, {0x008ca, 0x008d3}, {0x009fe, 0x009fe}, {0x00c3c, 0x00c3c},
    {0x00d3b, 0x00d3c}, {0x00eba, 0x00eba}, {0x01715, 0x01715}, {0x01abf, 0x01af0}, {0x01df6, 0x01dfa}, {0x0a82c, 0x0a82c},
    {0x105c0, 0x105ff}, {0x10d24, 0x10d27}, {0x10d69, 0x10d6d}, {0x10eab, 0x10eac}, {0x10ecb, 0x10ecf}, {0x10ef0, 0x10eff},
    {0x10f46, 0x10f50}, {0x10f82, 0x10f85}, {0x11070, 0x11070}, {0x1133b, 0x1133b}, {0x11380, 0x113d0}, {0x1145e, 0x1145e},
    {0x11839, 0x1183a}, {0x11900, 0x11943}, {0x119e0, 0x119e0}, {0x11a34, 0x11a34}, {0x11a47, 0x11a47}, {0x11a99, 0x11a99},
    {0x11d42, 0x11d45}, {0x11d97, 0x11d97}, {0x11f41, 0x11f42}, {0x16100, 0x1612f}, {0x16d40, 0x16d7f}, {0x16ff0, 0x16ff1},
    {0x1d127, 0x1d128}, {0x1d250, 0x1d25f}, {0x1d280, 0x1d281}, {0x1e08f, 0x1e08f}, {0x1e130, 0x1e136}, {0x1e2ae, 0x1e2ae},
    {0x1e2ec, 0x1e2ef}, {0x1e4ec, 0x1e4ef}, {0x1e5ee, 0x1e5ef}, {0x1e6e3, 0x1e6f5},
};

bool is_after_unicode9(char32_t point) {
  if (point < kAfterUnicode9[0].first) return false;
  const auto range = std::lower_bound(std::begin(kAfterUnicode9), std::end(kAfterUnicode9), point,
                                      [](const Range& r, char32_t value) { return r.last < value; });
  return range != std::end(kAfterUnicode9) && range->first <= point;
}

using Points = std::vector<utf8proc_int32_t>;

int combining_class(utf8proc_int32_t point) { return utf8proc_get_property(point)->combining_class; }

// Appends the canonical decomposition of one character. (utf8proc_decompose takes a whole text and orders the marks as well,
// but by exchanging neighbours: quadratic in the length of a run.)
void decompose(char32_t point, Points& points) {
  constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE);
  constexpr int kLongest = 32;  // the longest canonical decomposition is four characters
  utf8proc_int32_t parts[kLongest];
  int boundary = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(point), parts, kLongest, kOptions, &boundary);
  if (count < 0 || count > kLongest) throw runtime_failure({"utf8proc's message on a character", utf8proc_errmsg(count)});
  points.insert(points.end(), parts, parts + count);
}

void order_marks(Points& points) {
  for (size_t begin = 0; begin < points.size();) {
    if (points[begin] < 0x300 || combining_class(points[begin]) == 0) {
      ++begin;
      continue;
    }
    size_t end = begin + 1;
    while (end < points.size() && combining_class(points[end]) != 0) ++end;
    std::stable_sort(points.begin() + static_cast<ptrdiff_t>(begin), points.begin() + static_cast<ptrdiff_t>(end),
                     [](auto a, auto b) { return combining_class(a) < combining_class(b); });
    begin = end;
  }
}

// Composes what has been gathered, appends it to the text and starts afresh.
void flush(Points& points, std::string& text) {
  order_marks(points);
  constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  const auto count = utf8proc_normalize_utf32(points.data(), static_cast<utf8proc_ssize_t>(points.size()), kOptions);
  if (count < 0) throw runtime_failure({"utf8proc's message on a text", utf8proc_errmsg(count)});
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    utf8proc_uint8_t bytes[4];
    const auto length = utf8proc_encode_char(points[static_cast<size_t>(i)], bytes);
    text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
  }
  points.clear();
}

}  // namespace

bool may_need_nfc(std::string_view utf8) {
  // U+0300 is cc 80: no byte of an earlier character is as large as its first.
  return std::any_of(utf8.begin(), utf8.end(), [](char c) { return static_cast<unsigned char>(c) >= 0xcc; });
}

std::string nfc(std::string_view utf8) {
  std::string text;
  text.reserve(utf8.size());
  Points points;
  points.reserve(utf8.size());
  while (!utf8.empty()) {
    const Utf8Char next = first_character(utf8);
    if (is_after_unicode9(next.point)) {
      flush(points, text);
      text += utf8.substr(0, next.length);
    } else {
      decompose(next.point, points);
    }
    utf8.remove_prefix(next.length);
  }
  flush(points, text);
  return text;
}

}  // namespace rafter
