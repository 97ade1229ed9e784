// Standard input and other streams, whole or line by line; Ctrl-C breaks a read off.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rafter {

// All of it; an input Error above `limit` bytes.
std::string read_standard_input(int64_t limit);
// The same of what has no size before it is read: a pipe (as of a shell's `<(...)`), a terminal, a device.
std::string read_stream(const std::string& path, int64_t limit);

class LineReader {
 public:
  // The next line without its end; nothing at the end of input or after Ctrl-C.
  std::optional<std::string> next();

 private:
  std::string pending_;
};

bool in_is_terminal();

}  // namespace rafter
