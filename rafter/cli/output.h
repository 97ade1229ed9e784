// Standard output and standard error. Results go to the first, at once and unbuffered, everything else to the second.
#pragma once

#include <string>
#include <string_view>

namespace rafter {

// Thrown where the reader of standard output has gone (`rafter run ... | head`): the verb ends quietly.
struct OutputClosed {};

// A runtime Error where it cannot be written for another reason (a full disk).
void write_out(std::string_view text);
// To standard error; what cannot be written there is dropped.
void note(std::string_view text);
// The whole of a file; an input Error where it cannot be created, a runtime one where it cannot be written.
void write_file(const std::string& path, std::string_view text);

bool out_is_terminal();
bool err_is_terminal();

}  // namespace rafter
