#include "rafter/measure/recording/recording_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <type_traits>

namespace rafter {

using namespace recording_format;

ChunkBuffer::ChunkBuffer(ChunkKind kind) : kind_(kind), bytes_(new (std::nothrow) uint8_t[sizeof(ChunkHeader) + kMaxPayload]) {}

std::string_view ChunkBuffer::finished() {
  const ChunkHeader header = {kind_, static_cast<uint32_t>(payload_), checksum(bytes_.get() + sizeof header, payload_)};
  std::memcpy(bytes_.get(), &header, sizeof header);
  return {reinterpret_cast<const char*>(bytes_.get()), sizeof header + payload_};
}

void ChunkBuffer::varint(uint64_t value) {
  uint8_t* const payload = bytes_.get() + sizeof(ChunkHeader);
  for (; value >= 0x80; value >>= 7) payload[payload_++] = static_cast<uint8_t>(value | 0x80);
  payload[payload_++] = static_cast<uint8_t>(value);
}

template <typename T>
void ChunkBuffer::number(T value) {
  if constexpr (std::is_signed_v<T>) {
    const auto wide = static_cast<int64_t>(value);
    varint((static_cast<uint64_t>(wide) << 1) ^ static_cast<uint64_t>(wide >> 63));
  } else {
    varint(value);
  }
}

template <typename T>
void ChunkBuffer::near(T value, T base) {
  number(static_cast<int64_t>(static_cast<uint64_t>(value) - static_cast<uint64_t>(base)));
}

void ChunkBuffer::text(std::string_view value) {
  value = value.substr(0, kMaxText);
  varint(value.size());
  std::memcpy(bytes_.get() + sizeof(ChunkHeader) + payload_, value.data(), value.size());
  payload_ += value.size();
}

RecordingWriter::RecordingWriter(const char* path) noexcept {
  if (!names_.has_room(0) || !events_.has_room(0) || !note_.has_room(0)) {
    error_ = ENOMEM;
    return;
  }
  file_ = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  if (file_ < 0) error_ = errno;
  write_bytes(kOpening);
}

RecordingWriter::~RecordingWriter() {
  flush();
  if (file_ >= 0) ::close(file_);
}

void RecordingWriter::take_name(uint32_t number, std::string_view text) noexcept {
  if (abandoned_ || error_ != 0) return;
  const std::lock_guard lock(mutex_);
  if (!names_.has_room(kMaxText + 10)) write(names_);
  if (number != names_told_++) error_ = EINVAL;
  names_.text(text);
}

void RecordingWriter::take(const RecordedEvent& event) noexcept {
  if (abandoned_) return;
  if (error_ != 0) {
    ++lost_;
    return;
  }
  const std::lock_guard lock(mutex_);
  if (!events_.has_room(kMaxEvent)) flush_locked();
  events_.number(static_cast<uint8_t>(event.kind));
  code_event(events_, event, previous_);
}

void RecordingWriter::put_note(const RecordingNote& note) {
  code_note(note_, note);
  write(note_);
}

void RecordingWriter::write_note(const RecordingNote& note) noexcept {
  if (abandoned_) return;
  const std::lock_guard lock(mutex_);
  if (error_ == 0) put_note(note);
}

// Names first: those of the events that follow are among them.
void RecordingWriter::flush_locked() {
  if (!names_.empty()) write(names_);
  if (!events_.empty()) write(events_);
  previous_ = {};
}

void RecordingWriter::flush() noexcept {
  if (abandoned_) return;
  const std::lock_guard lock(mutex_);
  flush_locked();
}

void RecordingWriter::close(const RecordingNote& note) noexcept {
  if (abandoned_) return;
  const std::lock_guard lock(mutex_);
  if (file_ < 0) return;
  flush_locked();
  put_note(note);
  ChunkBuffer end(ChunkKind::end);
  if (end.has_room(0)) write(end);
  ::close(file_);
  file_ = -1;
  if (error_ == 0) error_ = EBADF;  // what comes late is lost
}

void RecordingWriter::write(ChunkBuffer& chunk) {
  write_bytes(chunk.finished());
  chunk.clear();
}

void RecordingWriter::write_bytes(std::string_view bytes) {
  while (error_ == 0 && !bytes.empty()) {
    const ssize_t count = ::write(file_, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
}

}  // namespace rafter
