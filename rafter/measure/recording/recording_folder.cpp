#include "rafter/measure/recording/recording_folder.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "rafter/base/error.h"

namespace rafter {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> listed(const fs::path& folder) {
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".rec") found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;  // as numbers of processes
  });
  return found;
}

std::string private_folder() {
  std::error_code code;
  fs::path base = fs::temp_directory_path(code);
  if (code) base = "/tmp";
  std::string pattern = (fs::absolute(base) / "rafter-trace-XXXXXX").string();
  if (::mkdtemp(pattern.data()) != nullptr) return pattern;
  throw runtime_failure({"a folder for recordings in " + in_quotes(base.string()),
                         std::string("not to be had: ") + std::strerror(errno), "",
                         "set TMPDIR to a folder that can be written"});
}

}  // namespace

RecordingFolder::RecordingFolder(const std::string& path)
    : path_(path.empty() ? private_folder() : fs::absolute(path).string()), kept_(!path.empty()) {
  std::error_code code;
  fs::create_directories(path_, code);
  if (!fs::is_directory(path_)) {
    throw input_error(
        {in_quotes(path), code ? "not to be created: " + code.message() : "no folder", "a folder for recordings"});
  }
  if (!recordings().empty()) {
    throw input_error(
        {in_quotes(path), "a folder that holds recordings", "one without", "name another, or remove its .rec files"});
  }
}

RecordingFolder::~RecordingFolder() {
  std::error_code ignored;
  if (!kept_) fs::remove_all(path_, ignored);
}

std::vector<std::string> RecordingFolder::recordings() const { return listed(path_); }

std::vector<std::string> recordings_at(const std::string& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<std::string> found = listed(path);
  if (found.empty()) {
    throw input_error({in_quotes(path), "a folder without recordings", "one that `rafter trace --keep` filled"});
  }
  return found;
}

}  // namespace rafter
