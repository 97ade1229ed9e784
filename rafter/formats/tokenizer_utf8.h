// UTF-8 one character at a time. Text from users and bytes from models need not be valid: what is wrong is cut as Unicode
// recommends (the longest prefix of a character that could have become valid counts as one error), so that encoding,
// streaming and Python's errors="replace" agree on where a fault begins and ends.
#pragma once

#include <cstdint>
#include <string_view>

namespace rafter {

struct Utf8Char {
  enum class Kind {
    valid,
    invalid,    // no continuation of the text makes these bytes a character
    truncated,  // the text ends inside what may still become a character
  };
  Kind kind;
  uint32_t length;  // bytes it takes: all of a valid character, or the faulty prefix; 1 to 4
  char32_t point;   // the code point where valid, else 0
};

// The first character of a text that is not empty.
Utf8Char first_character(std::string_view text);

// Unicode's White_Space property: what \s means in the patterns of pretokenizer.h.
bool is_white_space(char32_t point);

}  // namespace rafter
