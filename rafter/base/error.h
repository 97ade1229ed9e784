// Errors that a stranger can act on: the thing, its value, what was expected and what to do.
//
// Every fault a user can meet is thrown as an Error. `Fault::input` is bad usage or a bad file (exit status 2);
// `Fault::runtime` is a run that failed although its input was fine (exit status 1).
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace rafter {

enum class Fault { input, runtime };

class Error : public std::runtime_error {
 public:
  Error(Fault fault, const std::string& message) : std::runtime_error(message), fault_(fault) {}
  Fault fault() const { return fault_; }
  int exit_status() const { return fault_ == Fault::input ? 2 : 1; }

 private:
  Fault fault_;
};

// The parts of a message. `thing` and `value` are printed as given; `expected` and `remedy` may be empty.
//   {"model.gguf: dimension 1 of tensor 'a'", "0", "1 or more", "download the file again"}
// reads: model.gguf: dimension 1 of tensor 'a' is 0; expected 1 or more. Download the file again.
struct ErrorParts {
  std::string thing;
  std::string value;
  std::string expected = {};
  std::string remedy = {};
};

std::string compose(const ErrorParts& parts);

inline Error input_error(const ErrorParts& parts) { return Error(Fault::input, compose(parts)); }
inline Error runtime_failure(const ErrorParts& parts) { return Error(Fault::runtime, compose(parts)); }

// Text from a file or a user, made safe to print inside a message: control bytes escaped, invalid UTF-8
// replaced, shortened to `limit` bytes with an ellipsis.
std::string printable(std::string_view text, size_t limit = 80);

// A path or a name between single quotes, made safe to print.
std::string in_quotes(std::string_view text, size_t limit = 400);

}  // namespace rafter
