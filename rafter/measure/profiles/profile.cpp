#include "rafter/measure/profiles/profile.h"

#include <algorithm>
#include <array>

#include "rafter/base/error.h"
#include "rafter/base/mapped_file.h"
#include "rafter/formats/file_kind.h"
#include "rafter/measure/profiles/gzip_text.h"
#include "rafter/measure/profiles/ncu_csv.h"
#include "rafter/measure/profiles/ncu_report.h"
#include "rafter/measure/profiles/nsys_sqlite.h"
#include "rafter/measure/profiles/pytorch_trace.h"
#include "rafter/measure/profiles/rafter_json.h"

namespace rafter {

namespace {

constexpr const char* kExpected =
    "Nsight Compute CSV, Nsight Systems SQLite, a PyTorch trace (.json or .json.gz), or JSON of rafter bench or trace";

// Formats that we cannot read and whose beginning says nothing we know: their names are all there is to go by.
bool is_named(const std::string& path, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return path.ends_with(ending); });
}

bool is_binary(std::string_view text) { return text.substr(0, 4096).find('\0') != std::string_view::npos; }

Profile read_json(std::string_view json, const std::string& path) {
  // Rafter's files are small and say what they are; a trace may be gigabytes, and says so at its top or at its end.
  const std::string_view head = json.substr(0, 4096);
  const bool ours = head.find("\"schema\"") != std::string_view::npos && head.find("\"traceEvents\"") == std::string_view::npos;
  return ours ? read_rafter_json(json, path) : read_pytorch_trace(json, path);
}

Profile read_text(std::string_view text, const std::string& path) {
  const std::string_view head = text.substr(text.starts_with("\xef\xbb\xbf") ? 3 : 0, 4096);
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (head[first] == '{' || head[first] == '[')) return read_json(text, path);
  if (looks_like_ncu_csv(text)) return read_ncu_csv(text, path);
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
  throw input_error({fmt::format("{}: line 1, column 1", in_quotes(path)), describe_file_kind(bytes), kExpected,
                     "export the profile in one of these"});
}

}  // namespace

const char* name(ProfileKind kind) {
  static constexpr std::array kNames = {"Nsight Compute CSV", "Nsight Systems SQLite", "PyTorch trace", "rafter bench",
                                        "rafter trace"};
  return kNames[static_cast<size_t>(kind)];
}

Profile read_profile(const std::string& path) {
  const MappedFile file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  if (text.starts_with(std::string_view("SQLite format 3\0", 16))) return read_nsys_sqlite(path);
  if (is_gzip(text)) return read_text(unpack_gzip(text, path), path);
  if (is_ncu_report(text) || (is_binary(text) && is_named(path, {".ncu-rep", ".nsight-cuprof-report"}))) {
    return read_ncu_csv(export_ncu_report(path), path);
  }
  if (is_binary(text) && is_named(path, {".nsys-rep", ".qdrep", ".qdstrm"})) {
    throw input_error({in_quotes(path), "a report of Nsight Systems in its own binary format", "its SQLite export",
                       fmt::format("export it: nsys export --type sqlite {}", in_quotes(path))});
  }
  return read_text(text, path);
}

}  // namespace rafter
