#include "rafter/formats/tokenizer_nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "rafter/base/error.h"
#include "rafter/formats/tokenizer_utf8.h"

namespace rafter {

namespace {

using Points = std::vector<utf8proc_int32_t>;

int combining_class(utf8proc_int32_t point) { return utf8proc_get_property(point)->combining_class; }

// Canonical decomposition, each character on its own. utf8proc_decompose would order the marks as well, but by exchanging
// neighbours: quadratic in the length of a run.
Points decompose(std::string_view utf8) {
  constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE);
  constexpr int kLongest = 32;  // the longest canonical decomposition is four characters
  Points points;
  points.reserve(utf8.size());
  while (!utf8.empty()) {
    const Utf8Char next = first_character(utf8);
    utf8.remove_prefix(next.length);
    utf8proc_int32_t parts[kLongest];
    int boundary = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(next.point), parts, kLongest, kOptions, &boundary);
    if (count < 0 || count > kLongest) throw runtime_failure({"Unicode normalisation", utf8proc_errmsg(count)});
    points.insert(points.end(), parts, parts + count);
  }
  return points;
}

void order_marks(Points& points) {
  for (size_t begin = 0; begin < points.size();) {
    if (points[begin] < 0x300 || combining_class(points[begin]) == 0) {
      ++begin;
      continue;
    }
    size_t end = begin + 1;
    while (end < points.size() && combining_class(points[end]) != 0) ++end;
    std::stable_sort(points.begin() + begin, points.begin() + end,
                     [](auto a, auto b) { return combining_class(a) < combining_class(b); });
    begin = end;
  }
}

}  // namespace

bool may_need_nfc(std::string_view utf8) {
  // U+0300 is cc 80: no byte of an earlier character is as large as its first.
  return std::any_of(utf8.begin(), utf8.end(), [](char c) { return static_cast<unsigned char>(c) >= 0xcc; });
}

std::string nfc(std::string_view utf8) {
  Points points = decompose(utf8);
  order_marks(points);
  constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  const auto count = utf8proc_normalize_utf32(points.data(), static_cast<utf8proc_ssize_t>(points.size()), kOptions);
  if (count < 0) throw runtime_failure({"Unicode normalisation", utf8proc_errmsg(count)});
  std::string text;
  text.reserve(utf8.size());
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    utf8proc_uint8_t bytes[4];
    const auto length = utf8proc_encode_char(points[i], bytes);
    text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
  }
  return text;
}

}  // namespace rafter
