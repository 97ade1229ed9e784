// A gzip file unpacked into memory, with a limit: some kilobytes can stand for terabytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace rafter {

bool is_gzip(std::string_view bytes);

// An input Error where it is damaged or cut off, or unpacks to more than 4 GiB, or to more than 64 MiB and 100 times its
// packed size (profiles reach 30 times).
std::string unpack_gzip(std::string_view bytes, const std::string& path);

}  // namespace rafter
