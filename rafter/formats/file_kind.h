// What a file that is not what it should be looks like. People name a web page, or the stub that git-lfs leaves, as if
// it were the model; the error should say so.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "rafter/base/error.h"

namespace rafter {

// A noun phrase: "an HTML page", "a git-LFS pointer", "a zip archive (perhaps a PyTorch checkpoint)", "a GGUF file" ...,
// or "of an unknown kind (first bytes 00 01 02 03)".
std::string describe_file_kind(std::span<const std::byte> bytes);

// The error of a file that does not start as `expected` ("a GGUF file, which starts with \"GGUF\"") does.
Error wrong_kind_error(const std::string& path, std::span<const std::byte> bytes, const std::string& expected);

}  // namespace rafter
