// Writes a recording to a file, from within the process that is recorded.
//
// That process is somebody else's program, so nothing here throws, prints or allocates after the first moment: where writing
// fails, what comes after is lost and counted. Any thread may call it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "rafter/measure/recording/recording_format.h"

namespace rafter {

// A chunk that is being filled.
class ChunkBuffer {
 public:
  explicit ChunkBuffer(recording_format::ChunkKind kind);

  bool empty() const { return payload_ == 0; }
  bool has_room(size_t bytes) const { return bytes_ != nullptr && payload_ + bytes <= recording_format::kMaxPayload; }
  void clear() { payload_ = 0; }
  // With its header, ready to be written.
  std::string_view finished();

  // These need room. A number takes 10 bytes at most.
  template <typename T>
  void number(T value);
  template <typename T>
  void near(T value, T base);
  void text(std::string_view value);  // cut at kMaxText

 private:
  void varint(uint64_t value);

  recording_format::ChunkKind kind_;
  std::unique_ptr<uint8_t[]> bytes_;  // header and payload
  size_t payload_ = 0;
};

class RecordingWriter final : public RecordingSink {
 public:
  // Creates the file, which must not exist. A writer that cannot does nothing from then on: see error().
  explicit RecordingWriter(const char* path) noexcept;
  ~RecordingWriter() override;  // flushes; only close() makes the recording complete
  RecordingWriter(const RecordingWriter&) = delete;
  RecordingWriter& operator=(const RecordingWriter&) = delete;

  // Numbers must come in order, from 0.
  void take_name(uint32_t number, std::string_view text) noexcept override;
  void take(const RecordedEvent& event) noexcept override;
  void write_note(const RecordingNote& note) noexcept;
  // Hands all that was taken to the operating system, which keeps it whatever becomes of the process.
  void flush() noexcept;
  void close(const RecordingNote& note) noexcept;

  // For a forked child, which has a copy of this writer but must leave the file to its parent: from here on nothing is written.
  void abandon() noexcept { abandoned_ = true; }

  int error() const noexcept { return error_; }    // errno of what went wrong first; 0 where nothing did
  int64_t lost() const noexcept { return lost_; }  // events that were not written
  bool is_open() const noexcept { return file_ >= 0; }

 private:
  void put_note(const RecordingNote& note);
  void flush_locked();
  void write(ChunkBuffer& chunk);
  void write_bytes(std::string_view bytes);

  std::mutex mutex_;
  int file_ = -1;
  std::atomic<int> error_ = 0;
  std::atomic<int64_t> lost_ = 0;
  std::atomic<bool> abandoned_ = false;
  uint32_t names_told_ = 0;
  ChunkBuffer names_{recording_format::ChunkKind::names}, events_{recording_format::ChunkKind::events},
      note_{recording_format::ChunkKind::note};
  recording_format::Previous previous_;
};

}  // namespace rafter
