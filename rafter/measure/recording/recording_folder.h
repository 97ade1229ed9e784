// A folder with the recordings of one command, a file for each process that used a GPU.
#pragma once

#include <string>
#include <vector>

namespace rafter {

class RecordingFolder {
 public:
  // The folder to keep recordings in, created where it is not there: an input Error where it cannot be, or holds some already.
  // An empty path: a private one, removed at the end with all that is in it.
  explicit RecordingFolder(const std::string& path);
  ~RecordingFolder();
  RecordingFolder(const RecordingFolder&) = delete;
  RecordingFolder& operator=(const RecordingFolder&) = delete;

  const std::string& path() const { return path_; }  // absolute
  std::vector<std::string> recordings() const;       // so far, in the order of their names

 private:
  std::string path_;
  bool kept_;
};

// The recordings in a folder, in the order of their names; a file is one itself. An input Error where the path is neither.
std::vector<std::string> recordings_at(const std::string& path);

}  // namespace rafter
