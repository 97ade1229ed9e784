#include "rafter/measure/recording/recording_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "rafter/base/error.h"
#include "rafter/measure/recording/recording_format.h"

namespace rafter {

namespace {

using namespace recording_format;

// Gives up to `bytes` bytes; fewer at the end only.
using ByteSource = std::function<size_t(uint8_t* to, size_t bytes)>;

// A payload holds what its writer cannot have written. Told with its place by whoever knows it.
struct Damaged {
  const char* how;
};

class PayloadReader {
 public:
  explicit PayloadReader(std::span<const uint8_t> payload) : at_(payload.data()), end_(at_ + payload.size()) {}

  bool at_end() const { return at_ == end_; }

  template <typename T>
  void number(T& value) {
    if constexpr (std::is_signed_v<T>) {
      value = narrowed<T>(folded());
    } else {
      value = narrowed<T>(varint());
    }
  }
  template <typename T>
  void near(T& value, T base) {
    value = static_cast<T>(static_cast<uint64_t>(base) + static_cast<uint64_t>(folded()));
  }
  std::string_view view() {
    const uint64_t size = varint();
    if (size > static_cast<uint64_t>(end_ - at_)) throw Damaged{"a text goes past its end"};
    const std::string_view text(reinterpret_cast<const char*>(at_), size);
    at_ += size;
    return text;
  }
  void text(std::string& value) { value = view(); }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) throw Damaged{"a number goes past its end"};
      const uint8_t byte = *at_++;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw Damaged{"a number has no end"};
  }
  int64_t folded() {
    const uint64_t value = varint();
    return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
  }
  template <typename T, typename Wide>
  static T narrowed(Wide value) {
    if (static_cast<Wide>(static_cast<T>(value)) != value) throw Damaged{"a number is too large"};
    return static_cast<T>(value);
  }

  const uint8_t* at_;
  const uint8_t* end_;
};

class Reader {
 public:
  Reader(ByteSource source, std::string what, RecordingSink& sink)
      : source_(std::move(source)), what_(std::move(what)), sink_(sink), payload_(kMaxPayload) {}

  RecordingNote read() {
    if (!opening()) return note_;
    while (chunk()) {
    }
    return note_;
  }

 private:
  // False where the file ends within its first line.
  bool opening() {
    const size_t count = source_(payload_.data(), kOpening.size());
    const std::string_view found(reinterpret_cast<const char*>(payload_.data()), count);
    if (found == kOpening) return true;
    if (kOpening.starts_with(found)) return false;
    const std::string label = in_quotes(what_);
    if (!found.starts_with(kSchema)) throw input_error({label, "no recording", "a file that `rafter trace --keep` left"});
    throw input_error({label + ": the version", in_quotes(found.substr(kSchema.size(), found.find('\n') - kSchema.size()), 20),
                       "1", "read it with the rafter that recorded it"});
  }

  // False at the end of the file, or of what is whole of it.
  bool chunk() {
    ChunkHeader header;
    if (source_(reinterpret_cast<uint8_t*>(&header), sizeof header) < sizeof header) return false;
    try {
      if (header.bytes > kMaxPayload) throw Damaged{"its size is beyond that of any chunk"};
      if (source_(payload_.data(), header.bytes) < header.bytes) return false;
      if (checksum(payload_.data(), header.bytes) != header.checksum) throw Damaged{"its checksum is not that of its bytes"};
      const bool more = take(header.kind, {payload_.data(), header.bytes});
      offset_ += sizeof header + header.bytes;
      return more;
    } catch (const Damaged& damage) {
      throw input_error({fmt::format("{}: the chunk at byte {}", in_quotes(what_), offset_),
                         fmt::format("damaged: {}", damage.how), "chunks as they were written", "record again"});
    }
  }

  bool take(ChunkKind kind, std::span<const uint8_t> payload) {
    PayloadReader reader(payload);
    switch (kind) {
      case ChunkKind::names:
        while (!reader.at_end()) sink_.take_name(names_++, reader.view());
        return true;
      case ChunkKind::events:
        for (Previous previous; !reader.at_end();) take_event(reader, previous);
        return true;
      case ChunkKind::note:
        code_note(reader, note_);
        return true;
      case ChunkKind::end:
        return end();
    }
    throw Damaged{"it is of no known kind"};
  }

  void take_event(PayloadReader& reader, Previous& previous) {
    uint8_t kind = 0;
    reader.number(kind);
    if (kind > static_cast<uint8_t>(RecordedKind::overhead)) throw Damaged{"an event is of no known kind"};
    RecordedEvent event;
    event.kind = static_cast<RecordedKind>(kind);
    code_event(reader, event, previous);
    if (event.name >= names_) throw Damaged{"an event has a name that was not told"};
    sink_.take(event);
  }

  bool end() {
    uint8_t more = 0;
    if (source_(&more, 1) != 0) throw Damaged{"bytes follow the end"};
    note_.complete = true;
    return false;
  }

  ByteSource source_;
  std::string what_;
  RecordingSink& sink_;
  std::vector<uint8_t> payload_;
  RecordingNote note_;
  uint32_t names_ = 0;
  size_t offset_ = kOpening.size();
};

}  // namespace

RecordingNote read_recording(const std::string& path, RecordingSink& sink) {
  std::error_code code;
  const auto unreadable = [&path](const std::string& why) { return input_error({in_quotes(path), why, "a recording"}); };
  const std::filesystem::file_status status = std::filesystem::status(path, code);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) throw unreadable("not a regular file");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!file) throw unreadable(std::string("not readable: ") + std::strerror(errno));
  const auto source = [&file](uint8_t* to, size_t bytes) { return std::fread(to, 1, bytes, file.get()); };
  const RecordingNote note = Reader(source, path, sink).read();
  if (std::ferror(file.get()) != 0) throw unreadable(std::string("not readable: ") + std::strerror(errno));
  return note;
}

RecordingNote read_recording(std::span<const std::byte> bytes, const std::string& what, RecordingSink& sink) {
  const auto source = [&bytes](uint8_t* to, size_t count) {
    count = std::min(count, bytes.size());
    if (count > 0) std::memcpy(to, bytes.data(), count);
    bytes = bytes.subspan(count);
    return count;
  };
  return Reader(source, what, sink).read();
}

}  // namespace rafter
