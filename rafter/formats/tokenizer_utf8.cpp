#include "rafter/formats/tokenizer_utf8.h"

namespace rafter {

namespace {

// What may follow a lead byte: how many bytes the character has, and the range of its second byte, which is narrower than
// 80..BF where the rest would be an overlong form, a surrogate or above U+10FFFF (Unicode 15.0, table 3-7).
struct Lead {
  uint32_t length;
  unsigned char low, high;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xc2) return {0, 0, 0};
  if (byte < 0xe0) return {2, 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};
  if (byte < 0xf0) return {3, 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte < 0xf4) return {4, 0x80, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

}  // namespace

Utf8Char first_character(std::string_view text) {
  using Kind = Utf8Char::Kind;
  const auto first = static_cast<unsigned char>(text[0]);
  const Lead lead = lead_of(first);
  if (lead.length == 0) return {Kind::invalid, 1, 0};
  if (lead.length == 1) return {Kind::valid, 1, first};
  char32_t point = first & (0x7fu >> lead.length);
  for (uint32_t i = 1; i < lead.length; ++i) {
    if (i == text.size()) return {Kind::truncated, i, 0};
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool follows = i == 1 ? byte >= lead.low && byte <= lead.high : (byte & 0xc0) == 0x80;
    if (!follows) return {Kind::invalid, i, 0};
    point = point << 6 | (byte & 0x3f);
  }
  return {Kind::valid, lead.length, point};
}

bool is_white_space(char32_t point) {
  return (point >= 0x09 && point <= 0x0d) || point == 0x20 || point == 0x85 || point == 0xa0 || point == 0x1680 ||
         (point >= 0x2000 && point <= 0x200a) || point == 0x2028 || point == 0x2029 || point == 0x202f || point == 0x205f ||
         point == 0x3000;
}

}  // namespace rafter
