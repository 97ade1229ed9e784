// Unicode normalisation form C, which Qwen's tokenizers apply to text before anything else.
#pragma once

#include <string>
#include <string_view>

namespace rafter {

// Whether the text may change: false only where every character is below U+0300 and so is in form C already.
bool may_need_nfc(std::string_view utf8);

// `utf8` must be valid. Linear but for a sort of each run of combining marks, so that a long run of them is no trap.
std::string nfc(std::string_view utf8);

}  // namespace rafter
