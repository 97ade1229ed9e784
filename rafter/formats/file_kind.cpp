#include "rafter/formats/file_kind.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace rafter {

namespace {

using namespace std::string_view_literals;

struct Mark {
  std::string_view start;
  std::string_view kind;
};

constexpr std::array kMarks = {
    Mark{"GGUF"sv, "a GGUF file"},
    Mark{"version https://git-lfs"sv, "a git-LFS pointer"},
    Mark{"PK\x03\x04"sv, "a zip archive (perhaps a PyTorch checkpoint)"},
    Mark{"\x80\x02"sv, "a Python pickle (perhaps a PyTorch checkpoint)"},
    Mark{"\x1f\x8b"sv, "a gzip archive"},
    Mark{"\x28\xb5\x2f\xfd"sv, "a Zstandard archive"},
    Mark{"BZh"sv, "a bzip2 archive"},
    Mark{"\xfd"
         "7zXZ"sv,
         "an xz archive"},
    Mark{"\x89HDF"sv, "an HDF5 file"},
    Mark{"\x7f"
         "ELF"sv,
         "a program"},
    Mark{"lmgg"sv, "a GGML file, the format before GGUF"},
    Mark{"fmgg"sv, "a GGMF file, the format before GGUF"},
    Mark{"tjgg"sv, "a GGJT file, the format before GGUF"},
    Mark{"algg"sv, "a GGLA file, the format before GGUF"},
};

bool starts_with_ignoring_case(std::string_view text, std::string_view start) {
  return text.size() >= start.size() && std::equal(start.begin(), start.end(), text.begin(), [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
         });
}

std::string_view without_leading_space(std::string_view text) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);  // a byte order mark
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text[0]))) text.remove_prefix(1);
  return text;
}

bool is_text(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 ? byte != 0x7f : c == '\n' || c == '\r' || c == '\t';
  });
}

std::string unknown_kind(std::string_view head) {
  std::string bytes;
  for (const char c : head.substr(0, 8)) bytes += fmt::format(" {:02x}", static_cast<unsigned char>(c));
  return "of an unknown kind (first bytes" + bytes + ")";
}

}  // namespace

std::string describe_file_kind(std::span<const std::byte> bytes) {
  if (bytes.empty()) return "empty";
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()), std::min<size_t>(bytes.size(), 512));
  for (const Mark& mark : kMarks) {
    if (head.substr(0, mark.start.size()) == mark.start) return std::string(mark.kind);
  }
  // Safetensors: a little-endian length, then JSON. The length is below 2^32 in any such file.
  if (head.size() > 8 && head[8] == '{' && head.substr(4, 4) == "\0\0\0\0"sv) return "a safetensors file";
  const std::string_view text = without_leading_space(head);
  if (starts_with_ignoring_case(text, "<!doctype html") || starts_with_ignoring_case(text, "<html")) return "an HTML page";
  if (starts_with_ignoring_case(text, "<?xml")) return "an XML document";
  if (std::all_of(head.begin(), head.end(), [](char c) { return c == 0; })) return "filled with zeros";
  if (is_text(head)) return (text.substr(0, 1) == "{" ? "JSON text ('" : "text ('") + printable(text, 40) + "')";
  return unknown_kind(head);
}

Error wrong_kind_error(const std::string& path, std::span<const std::byte> bytes, const std::string& expected) {
  const std::string kind = describe_file_kind(bytes);
  const bool pointer = kind == "a git-LFS pointer";
  return input_error({in_quotes(path), kind, expected,
                      pointer ? "fetch the file it stands for with 'git lfs pull'" : "download the model file itself"});
}

}  // namespace rafter
