// Unicode normalisation form C as Hugging Face's tokenizers do it, which Qwen's apply to text before anything else.
//
// Their tables are those of Unicode 9, whatever the rest of the library knows: a combining mark that came later is left
// where it stands and joins nothing. Models were trained on that, so it is done here too, and the result does not depend on
// the version of the system's utf8proc.
#pragma once

#include <string>
#include <string_view>

namespace rafter {

// Whether the text may change: false only where every character is below U+0300 and so is in form C already.
bool may_need_nfc(std::string_view utf8);

// `utf8` must be valid. Linear but for a sort of each run of combining marks, so that a long run of them is no trap.
std::string nfc(std::string_view utf8);

}  // namespace rafter
