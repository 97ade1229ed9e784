#include "rafter/measure/recording/recording_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <limits>
#include <thread>

#include "rafter/base/mapped_file.h"
#include "rafter/measure/recording/recording_format.h"
#include "rafter/measure/recording/recording_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/errors.h"
#include "tests/support/recording_events.h"
#include "tests/support/temp_folder.h"

namespace rafter {
namespace {

using test::KeepingSink;
using test::made_up_event;

RecordingNote some_note() {
  RecordingNote note;
  note.process = 4321;
  note.parent = 17;
  note.command = "python train.py";
  note.device = "NVIDIA H200";
  note.device_uuid_hash = "0123456789abcdef";
  note.dropped = 3;
  note.fault = "a fault";
  note.began_ns = 1'700'000'000'000'000'000;
  note.ended_ns = note.began_ns + 5;
  note.recorder_ns = 99;
  return note;
}

std::string write_events(const std::string& path, int64_t events, uint32_t names, int64_t flush_every = 1 << 30) {
  RecordingWriter writer(path.c_str());
  for (uint32_t i = 0; i < names; ++i) writer.take_name(i, "kernel<" + std::to_string(i) + ">(float const*)");
  for (int64_t i = 0; i < events; ++i) {
    writer.take(made_up_event(i, names));
    if (i % flush_every == flush_every - 1) writer.flush();
  }
  writer.close(some_note());
  EXPECT_EQ(writer.lost(), 0);
  return path;
}

std::vector<std::byte> bytes_of_file(const std::string& path) {
  const MappedFile file(path);
  return {file.bytes().begin(), file.bytes().end()};
}

TEST(RecordingFile, GivesBackWhatWasWritten) {
  const test::TempFolder folder;
  KeepingSink sink;
  const RecordingNote note = read_recording(write_events(folder.path("a.rec"), 5000, 40, 700), sink);
  ASSERT_EQ(sink.events.size(), 5000u);
  for (int64_t i = 0; i < 5000; ++i) EXPECT_EQ(sink.events[static_cast<size_t>(i)], made_up_event(i, 40)) << i;
  EXPECT_EQ(sink.names.at(39), "kernel<39>(float const*)");
  EXPECT_TRUE(note.complete);
  EXPECT_EQ(note.process, 4321);
  EXPECT_EQ(note.parent, 17);
  EXPECT_EQ(note.command, "python train.py");
  EXPECT_EQ(note.device, "NVIDIA H200");
  EXPECT_EQ(note.device_uuid_hash, "0123456789abcdef");
  EXPECT_EQ(note.dropped, 3);
  EXPECT_EQ(note.fault, "a fault");
  EXPECT_EQ(note.ended_ns - note.began_ns, 5);
  EXPECT_EQ(note.recorder_ns, 99);
}

TEST(RecordingFile, AKernelTakesSomeFortyBytes) {
  const test::TempFolder folder;
  const std::string path = write_events(folder.path("a.rec"), 100'000, 40);
  EXPECT_LT(std::filesystem::file_size(path), 4'000'000u);
}

TEST(RecordingFile, ExtremeValuesAndTextsSurvive) {
  const test::TempFolder folder;
  RecordedEvent event;
  event.kind = RecordedKind::kernel;
  event.start_ns = std::numeric_limits<int64_t>::min();
  event.end_ns = std::numeric_limits<int64_t>::max();
  event.process = event.thread = event.stream = event.context = event.correlation = event.graph = 0xffffffff;
  event.device = std::numeric_limits<int32_t>::min();
  event.graph_node = event.tag = ~uint64_t{0};
  event.grid.fill(std::numeric_limits<int32_t>::max());
  event.block.fill(std::numeric_limits<int32_t>::min());
  event.shared_bytes = event.local_bytes = std::numeric_limits<int64_t>::min();
  const std::string odd("\0\x01\x1b[31m\xff\n", 8);
  {
    RecordingWriter writer(folder.path("a.rec").c_str());
    writer.take_name(0, odd);
    writer.take_name(1, "");
    writer.take_name(2, std::string(100'000, 'x'));
    for (int i = 0; i < 1000; ++i) writer.take(event);
    writer.close({});
  }
  KeepingSink sink;
  EXPECT_TRUE(read_recording(folder.path("a.rec"), sink).complete);
  EXPECT_EQ(sink.names, (std::vector<std::string>{odd, "", std::string(recording_format::kMaxText, 'x')}));
  ASSERT_EQ(sink.events.size(), 1000u);
  for (const RecordedEvent& read : sink.events) EXPECT_EQ(read, event);
}

TEST(RecordingFile, AnEmptyRecordingIsComplete) {
  const test::TempFolder folder;
  KeepingSink sink;
  EXPECT_TRUE(read_recording(write_events(folder.path("a.rec"), 0, 0), sink).complete);
  EXPECT_TRUE(sink.events.empty());
}

TEST(RecordingFile, CutAnywhereItGivesWholeChunks) {
  const test::TempFolder folder;
  const auto whole = bytes_of_file(write_events(folder.path("a.rec"), 60, 4, 20));
  size_t before = 0;
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    KeepingSink sink;
    EXPECT_FALSE(read_recording(std::span(whole).first(bytes), "cut", sink).complete) << bytes;
    EXPECT_EQ(sink.events.size() % 20, 0u) << bytes;
    EXPECT_GE(sink.events.size(), before) << bytes;
    before = sink.events.size();
  }
  EXPECT_EQ(before, 60u);
}

TEST(RecordingFile, BadFilesAreOneError) {
  const test::TempFolder folder;
  KeepingSink sink;
  const auto read = [&](const std::string& path) { return [&sink, path] { read_recording(path, sink); }; };
  test::expect_input_error(read(folder.path("none.rec")), {"none.rec", "No such file"});
  test::expect_input_error(read(folder.path()), {"not a regular file"});
  test::expect_input_error(read(folder.write("a.json", std::string_view("{\"schema\": \"rafter.results/1\"}"))),
                           {"a.json", "no recording", "--keep"});
  test::expect_input_error(read(folder.write("b.rec", std::string_view("rafter.recording/2\nmore"))),
                           {"version", "'2'", "expected 1"});
}

TEST(RecordingFile, BadBytesAreAnErrorWithTheirPlace) {
  const test::TempFolder folder;
  const auto whole = bytes_of_file(write_events(folder.path("a.rec"), 200, 4, 50));
  for (size_t at = recording_format::kOpening.size(); at < whole.size(); ++at) {
    auto damaged = whole;
    damaged[at] ^= std::byte{0x55};
    KeepingSink sink;
    try {  // a size that leads past the end of the file looks like a cut
      EXPECT_FALSE(read_recording(damaged, "damaged", sink).complete) << at;
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::input);
      EXPECT_NE(std::string(error.what()).find("'damaged': the chunk at byte "), std::string::npos) << error.what();
    }
  }
  auto longer = whole;
  longer.push_back(std::byte{0});
  KeepingSink sink;
  test::expect_input_error([&] { read_recording(longer, "longer", sink); }, {"bytes follow the end"});
}

// A chunk with a checksum that is right and a payload that no writer makes.
void expect_damaged(recording_format::ChunkKind kind, const test::Bytes& payload, std::string_view how) {
  test::Bytes bytes;
  test::append(bytes, recording_format::kOpening);
  test::append(bytes, static_cast<uint32_t>(kind));
  test::append(bytes, static_cast<uint32_t>(payload.size()));
  test::append(bytes, recording_format::checksum(reinterpret_cast<const uint8_t*>(payload.data()), payload.size()));
  test::append(bytes, payload);
  KeepingSink sink;
  test::expect_input_error([&] { read_recording(bytes, "made", sink); }, {"the chunk at byte 19 is damaged", how});
}

TEST(RecordingFile, BadPayloadsAreNamed) {
  using recording_format::ChunkKind;
  const auto bytes = [](std::initializer_list<int> values) {
    test::Bytes made;
    for (const int value : values) made.push_back(static_cast<std::byte>(value));
    return made;
  };
  expect_damaged(ChunkKind::names, bytes({5, 'a', 'b'}), "text goes past");
  expect_damaged(ChunkKind::names, bytes({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}), "text goes past");
  expect_damaged(ChunkKind::events, bytes({9}), "no known kind");
  expect_damaged(ChunkKind::events, bytes({0, 1, 1}), "number goes past");
  expect_damaged(ChunkKind::events, test::Bytes(400, std::byte{0xff}), "number has no end");
  expect_damaged(ChunkKind::events, bytes({3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), "name that was not told");
  expect_damaged(ChunkKind::events, bytes({3, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 1}), "too large");
  expect_damaged(static_cast<ChunkKind>(77), bytes({}), "no known kind");
}

TEST(RecordingWriter, NeverWritesOverAFile) {
  const test::TempFolder folder;
  const std::string path = folder.write("a.rec", std::string_view("mine"));
  RecordingWriter writer(path.c_str());
  EXPECT_EQ(writer.error(), EEXIST);
  writer.take_name(0, "a");
  writer.take(made_up_event(0, 1));
  writer.close({});
  EXPECT_EQ(writer.lost(), 1);
  EXPECT_EQ(read_text_file(path, 100), "mine");
}

TEST(RecordingWriter, AFullDiskLosesAndCounts) {
  const test::TempFolder folder;
  const rlimit small{10'000, RLIM_INFINITY};
  rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  RecordingWriter writer(folder.path("a.rec").c_str());
  writer.take_name(0, "a");
  for (int i = 0; i < 20'000; ++i) writer.take(made_up_event(i, 1));
  writer.close({});
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(writer.error(), EFBIG);
  EXPECT_GT(writer.lost(), 10'000);
  KeepingSink sink;
  EXPECT_FALSE(read_recording(folder.path("a.rec"), sink).complete);
}

TEST(RecordingWriter, WhatWasFlushedIsThereWithoutAnEnd) {
  const test::TempFolder folder;
  RecordingWriter writer(folder.path("a.rec").c_str());
  writer.write_note(some_note());
  writer.take_name(0, "a");
  for (int i = 0; i < 10; ++i) writer.take(made_up_event(i, 1));
  writer.flush();
  writer.take(made_up_event(10, 1));
  KeepingSink sink;
  const RecordingNote note = read_recording(folder.path("a.rec"), sink);
  EXPECT_FALSE(note.complete);
  EXPECT_EQ(note.command, "python train.py");
  EXPECT_EQ(sink.events.size(), 10u);
}

TEST(RecordingWriter, AbandonedItWritesNothingMore) {
  const test::TempFolder folder;
  {
    RecordingWriter writer(folder.path("a.rec").c_str());
    writer.take_name(0, "a");
    writer.take(made_up_event(0, 1));
    writer.abandon();
    writer.flush();
    writer.close({});
  }
  EXPECT_EQ(std::filesystem::file_size(folder.path("a.rec")), recording_format::kOpening.size());
}

TEST(RecordingWriter, TakesFromManyThreads) {
  const test::TempFolder folder;
  {
    RecordingWriter writer(folder.path("a.rec").c_str());
    writer.take_name(0, "a");
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&writer] {
        for (int i = 0; i < 5000; ++i) writer.take(made_up_event(i, 1));
      });
    }
    threads.clear();
    writer.close({});
  }
  KeepingSink sink;
  EXPECT_TRUE(read_recording(folder.path("a.rec"), sink).complete);
  EXPECT_EQ(sink.events.size(), 20'000u);
}

// Streams a recording of some size and says what that took.
class CountingSink : public RecordingSink {
 public:
  void take_name(uint32_t, std::string_view) override {}
  void take(const RecordedEvent& event) override { gpu_ns += event.on_gpu() ? event.end_ns - event.start_ns : 0, ++events; }
  int64_t events = 0, gpu_ns = 0;
};

int64_t peak_bytes() {
  rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

void expect_bounded_memory(int64_t events) {
  using Clock = std::chrono::steady_clock;
  const test::TempFolder folder;
  const auto began = Clock::now();
  const std::string path = write_events(folder.path("large.rec"), events, 500);
  const auto written = Clock::now();
  const int64_t before = peak_bytes();
  CountingSink sink;
  EXPECT_TRUE(read_recording(path, sink).complete);
  const auto read = Clock::now();
  EXPECT_EQ(sink.events, events);
  EXPECT_LT(peak_bytes() - before, int64_t{4} << 20);
  const auto seconds = [](auto time) { return std::chrono::duration<double>(time).count(); };
  fmt::print("{} events, {} bytes: written in {:.2f} s, read in {:.2f} s, {} bytes of memory at most\n", events,
             std::filesystem::file_size(path), seconds(written - began), seconds(read - written), peak_bytes());
}

TEST(RecordingFile, IsReadInBoundedMemory) { expect_bounded_memory(2'000'000); }

// Run by hand: --gtest_also_run_disabled_tests --gtest_filter=*AGigabyte*
TEST(RecordingFile, DISABLED_AGigabyteIsReadInBoundedMemory) { expect_bounded_memory(45'000'000); }

}  // namespace
}  // namespace rafter
