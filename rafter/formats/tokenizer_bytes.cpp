#include "rafter/formats/tokenizer_bytes.h"

#include <array>
#include <cstdint>

namespace rafter {

namespace {

constexpr int kAlphabetEnd = 0x144;  // the last of the 68 bytes written elsewhere, 0xad, is U+0143

constexpr bool is_written_as_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
}

// From code point to byte, -1 outside the alphabet.
constexpr std::array<int16_t, kAlphabetEnd> make_alphabet() {
  std::array<int16_t, kAlphabetEnd> byte_of{};
  byte_of.fill(-1);
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    byte_of[is_written_as_itself(byte) ? byte : next++] = static_cast<int16_t>(byte);
  }
  return byte_of;
}

constexpr auto kByteOf = make_alphabet();
static_assert(kByteOf[0x120] == 0x20 && kByteOf[0x10a] == 0x0a && kByteOf[kAlphabetEnd - 1] == 0xad);

}  // namespace

bool append_bytes_of(std::string_view token_text, std::string& bytes) {
  const size_t before = bytes.size();
  for (size_t i = 0; i < token_text.size(); ++i) {
    unsigned point = static_cast<unsigned char>(token_text[i]);
    // The alphabet ends below U+0800, so two bytes are the longest form; anything else fails the look-up.
    if (point >= 0xc2 && point <= 0xdf && i + 1 < token_text.size()) {
      point = (point & 0x1f) << 6 | (static_cast<unsigned char>(token_text[++i]) & 0x3f);
    } else if (point >= 0x80) {
      point = kAlphabetEnd;
    }
    const int byte = point < kAlphabetEnd ? kByteOf[point] : -1;
    if (byte < 0) {
      bytes.resize(before);
      return false;
    }
    bytes += static_cast<char>(byte);
  }
  return true;
}

}  // namespace rafter
