// The file of one process's recording, as bytes: what its writer and its reader share.
//
//   rafter.recording/1, a line feed, then chunks. A chunk: kind, payload size, payload checksum (u32 each), payload.
//   names    texts; each has the next number, from 0
//   events   events in the order in which they were told
//   note     what is known of the process; a later one replaces it
//   end      nothing follows; without it the process died, or still runs
//
// All is little-endian. Numbers in payloads are LEB128, those with a sign folded as 0, -1, 1, -2 ...; times and counters are
// differences, from zero in each chunk, so that a kernel takes some 40 bytes and every chunk is read alone. It is only ever
// appended to, one write for each chunk: what a killed process leaves is whole up to its last chunk.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "rafter/measure/recording/recording.h"

namespace rafter::recording_format {

static_assert(std::endian::native == std::endian::little, "chunk headers are written as they lie in memory");

constexpr std::string_view kSchema = "rafter.recording/";
constexpr std::string_view kOpening = "rafter.recording/1\n";

enum class ChunkKind : uint32_t { names = 1, events = 2, note = 3, end = 4 };

struct ChunkHeader {
  ChunkKind kind;
  uint32_t bytes;
  uint32_t checksum;
};

constexpr size_t kMaxPayload = 1 << 16;  // no chunk is larger: what a reader must hold at a time
constexpr size_t kMaxEvent = 320;        // bytes of one event: 26 numbers of up to 10 each, and its kind
constexpr size_t kMaxText = 1 << 13;     // longer texts are cut; a note has four

// FNV-1a over words of 8 bytes, the last one filled up with zeros: as quick as memory, and enough to tell damage.
inline uint32_t checksum(const uint8_t* data, size_t bytes) {
  constexpr uint64_t kPrime = 1099511628211u;
  uint64_t hash = 14695981039346656037u;
  for (size_t at = 0; at < bytes; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, data + at, bytes - at < 8 ? bytes - at : 8);
    hash = (hash ^ word) * kPrime;
    hash ^= hash >> 32;
  }
  return static_cast<uint32_t>(hash);
}

// The last event's values in a chunk, from which the next one's differ little.
struct Previous {
  int64_t start_ns = 0;
  uint32_t correlation = 0;
  uint64_t graph_node = 0;
};

// The fields of an event in the order of the file; `coder` writes them or reads them. `near` codes a difference.
template <typename Coder, typename Event>
void code_event(Coder& coder, Event& event, Previous& previous) {
  coder.near(event.start_ns, previous.start_ns);
  coder.near(event.end_ns, event.start_ns);
  coder.number(event.name);
  coder.number(event.process);
  coder.number(event.thread);
  coder.near(event.correlation, previous.correlation);
  if (event.on_gpu()) {
    coder.near(event.graph_node, previous.graph_node);
    coder.number(event.graph);
  }
  coder.number(event.device);
  coder.number(event.stream);
  coder.number(event.context);
  coder.number(event.tag);
  if (event.kind == RecordedKind::kernel) {
    for (auto& extent : event.grid) coder.number(extent);
    for (auto& extent : event.block) coder.number(extent);
    coder.number(event.registers);
    coder.number(event.shared_bytes);
    coder.number(event.local_bytes);
  } else if (event.on_gpu()) {
    coder.number(event.bytes);
    coder.number(event.copy_kind);
  }
  previous = {event.start_ns, event.correlation, event.on_gpu() ? event.graph_node : previous.graph_node};
}

// `complete` is told by the end chunk.
template <typename Coder, typename Note>
void code_note(Coder& coder, Note& note) {
  coder.number(note.process);
  coder.number(note.parent);
  coder.text(note.command);
  coder.text(note.device);
  coder.text(note.device_uuid_hash);
  coder.number(note.dropped);
  coder.text(note.fault);
  coder.number(note.began_ns);
  coder.number(note.ended_ns);
  coder.number(note.recorder_ns);
}

}  // namespace rafter::recording_format
