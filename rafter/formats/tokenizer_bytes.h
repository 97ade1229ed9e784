// GPT-2's byte alphabet. Byte-level vocabularies are stored as printable text: each of the 256 bytes is written as one
// character, itself where it is printable Latin-1, else the next free one from U+0100 (space is U+0120).
#pragma once

#include <string>
#include <string_view>

namespace rafter {

// Appends the bytes that a token written in the alphabet stands for. Returns false, appending nothing, where the text
// holds a character outside the alphabet.
bool append_bytes_of(std::string_view token_text, std::string& bytes);

}  // namespace rafter
