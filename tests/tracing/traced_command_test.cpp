// `rafter trace -- CMD` from end to end, with a program and a CUPTI that stand in for those of a machine with a GPU.
#include "rafter/measure/recording/traced_command.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "rafter/measure/recording/recording_file.h"
#include "rafter/measure/recording/recording_folder.h"
#include "tests/cli/command.h"
#include "tests/support/recording_events.h"
#include "tests/support/temp_folder.h"

namespace rafter {
namespace {

using json = nlohmann::json;
using test::KeepingSink;
using test::Outcome;

constexpr const char* kProgram = RAFTER_STAND_INS "/gpu_program";

struct Recording {
  RecordingNote note;
  KeepingSink sink;
};

class Tracing : public testing::Test {
 protected:
  Tracing() {
    ::setenv("LD_LIBRARY_PATH", RAFTER_STAND_INS, 1);  // of what is started here
    ::setenv("TMPDIR", folder.path().c_str(), 1);
  }
  ~Tracing() override {
    for (const char* variable :
         {"LD_LIBRARY_PATH", "TMPDIR", "STAND_IN_SUBSCRIBE", "STAND_IN_VERSION", "RAFTER_CUPTI", "CUDA_INJECTION64_PATH"}) {
      ::unsetenv(variable);
    }
  }

  // `rafter trace OPTIONS -- gpu_program WORDS`
  Outcome trace(std::vector<std::string> words, std::vector<std::string> options = {}, const test::CommandOptions& how = {}) {
    options.insert(options.begin(), "trace");
    options.insert(options.end(), {"--", kProgram});
    options.insert(options.end(), words.begin(), words.end());
    return test::rafter(options, how);
  }
  // The recordings that it leaves, the parent's first.
  std::vector<Recording> record(std::vector<std::string> words, int status = 0) {
    const std::string kept = folder.path("kept" + std::to_string(++runs_));
    const Outcome outcome = trace(std::move(words), {"--keep", kept});
    EXPECT_EQ(outcome.status, status) << outcome.err;
    std::vector<Recording> recordings;
    for (const std::string& file : recordings_at(kept)) {
      Recording& recording = recordings.emplace_back();
      recording.note = read_recording(file, recording.sink);
    }
    return recordings;
  }
  static size_t lines(const std::string& text) { return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')); }

  test::TempFolder folder;

 private:
  int runs_ = 0;
};

TEST_F(Tracing, ALineForTheProcessAndItsStep) {
  const Outcome outcome = trace({"kernels", "10", "everything"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out.rfind("process ", 0), 0u) << outcome.out;
  for (const char* part : {"\nThe step: ", "the step as a sum", "Which kernel first:", "cudaLaunchKernel"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  }
  EXPECT_NE(outcome.out.find("10 kernels, 1 copy, 1 fill, 10 calls, 1 wait, 1 range; GPU work 10.0 us; recorder "),
            std::string::npos)
      << outcome.out;
  EXPECT_EQ(std::filesystem::exists(folder.path("rafter-trace-")), false);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));  // the recordings are gone
}

TEST_F(Tracing, EverythingIsRecorded) {
  const std::vector<Recording> recordings = record({"kernels", "4", "everything"});
  ASSERT_EQ(recordings.size(), 1u);
  const Recording& one = recordings[0];
  EXPECT_TRUE(one.note.complete);
  EXPECT_EQ(one.note.command, std::string(kProgram) + " kernels 4 everything");
  EXPECT_EQ(one.note.device, "NVIDIA Stand-in");
  EXPECT_EQ(one.note.fault, "");
  EXPECT_EQ(one.note.dropped, 0);
  const auto kernels = one.sink.of(RecordedKind::kernel);
  ASSERT_EQ(kernels.size(), 4u);
  EXPECT_EQ(one.sink.name_of(kernels[0]), "step(float*)");
  EXPECT_EQ(one.sink.name_of(kernels[1]), "void add<int>(int*, int)");
  EXPECT_EQ(kernels[3].correlation, 4u);
  EXPECT_EQ(kernels[3].process, one.note.process);
  for (const RecordedKind kind : {RecordedKind::copy, RecordedKind::fill, RecordedKind::wait, RecordedKind::range}) {
    EXPECT_EQ(one.sink.of(kind).size(), 1u) << name(kind);
  }
}

TEST_F(Tracing, TheProgramsStreamsAndStatusAreItsOwn) {
  const Outcome outcome =
      trace({"say", "to out", "error", "to err", "echo", "kernels", "1", "exit", "7"}, {}, {.input = "typed"});
  EXPECT_EQ(outcome.status, 7);
  EXPECT_EQ(outcome.err, "to err\n");
  EXPECT_TRUE(outcome.out.starts_with("to out\ntyped")) << outcome.out;
  EXPECT_EQ(trace({"start", "signal", "9"}).status, 128 + SIGKILL);
  EXPECT_EQ(trace({"start", "signal", "6"}).status, 128 + SIGABRT);
  EXPECT_EQ(trace({"signal", "13"}).status, 128 + SIGPIPE);  // its own handling of signals, not this program's
}

TEST_F(Tracing, AProgramThatLeavesWithoutGoodbyeKeepsWhatWasFlushed) {
  for (const std::vector<std::string>& end : std::vector<std::vector<std::string>>{{"_exit", "3"}, {"signal", "9"}}) {
    const auto recordings =
        record({"kernels", "10", "sleep", "700", "kernels", "5", end[0], end[1]}, end[0] == "_exit" ? 3 : 137);
    ASSERT_EQ(recordings.size(), 1u);
    EXPECT_FALSE(recordings[0].note.complete);
    EXPECT_EQ(recordings[0].sink.of(RecordedKind::kernel).size(), 10u);
    EXPECT_GT(recordings[0].note.ended_ns, recordings[0].note.began_ns);
  }
  const Outcome outcome = trace({"kernels", "10", "_exit", "0"});
  EXPECT_NE(outcome.out.find("killed, or it still ran"), std::string::npos) << outcome.out;
}

TEST_F(Tracing, AForkedChildLeavesTheFileToItsParent) {
  const auto recordings = record({"kernels", "10", "fork", "sleep", "300", "fork", "kernels", "5", "fork"});
  ASSERT_EQ(recordings.size(), 1u);
  EXPECT_TRUE(recordings[0].note.complete);
  EXPECT_EQ(recordings[0].sink.of(RecordedKind::kernel).size(), 15u);
}

TEST_F(Tracing, EachProcessHasItsFile) {
  const auto recordings = record({"kernels", "3", "run", "kernels", "5"});
  ASSERT_EQ(recordings.size(), 2u);
  const Recording &parent = recordings[0], &child = recordings[1];
  EXPECT_EQ(child.note.parent, parent.note.process);
  EXPECT_EQ(parent.sink.of(RecordedKind::kernel).size(), 3u);
  EXPECT_EQ(child.sink.of(RecordedKind::kernel).size(), 5u);
  EXPECT_EQ(child.note.command, "gpu_program kernels 5");
  EXPECT_EQ(record({"run", "kernels", "5"}).size(), 1u);  // the parent used no GPU
}

TEST_F(Tracing, ThreadsShareTheRecording) {
  const auto recordings = record({"threads", "20000"});
  ASSERT_EQ(recordings.size(), 1u);
  EXPECT_EQ(recordings[0].sink.of(RecordedKind::kernel).size(), 40'000u);
  EXPECT_TRUE(recordings[0].note.complete);
}

TEST_F(Tracing, NvtxIsHandedOnToTheCuptiThatRecords) {
  EXPECT_TRUE(trace({"nvtx", "kernels", "1"}).out.starts_with("nvtx: 1\n"));
  EXPECT_TRUE(trace({"kernels", "1", "nvtx"}).out.starts_with("nvtx: 1\n"));
  ::setenv("RAFTER_CUPTI", "/none/libcupti.so", 1);
  EXPECT_TRUE(trace({"nvtx"}).out.starts_with("nvtx: 0\n"));
}

TEST_F(Tracing, AProgramWithoutCudaIsOneLine) {
  const Outcome outcome = trace({"say", "hello"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, "hello\n");
  EXPECT_EQ(lines(outcome.err), 1u);
  EXPECT_TRUE(outcome.err.starts_with("rafter: nothing was recorded: ")) << outcome.err;
}

TEST_F(Tracing, AnotherProfilerIsOneLine) {
  ::setenv("STAND_IN_SUBSCRIBE", "39", 1);
  const Outcome held = trace({"kernels", "3", "exit", "5"});
  EXPECT_EQ(held.status, 5);
  EXPECT_EQ(held.out, "");
  EXPECT_EQ(lines(held.err), 1u);
  EXPECT_NE(held.err.find("(39). Another profiler holds CUPTI"), std::string::npos) << held.err;
  ::unsetenv("STAND_IN_SUBSCRIBE");
  ::setenv("CUDA_INJECTION64_PATH", "/opt/nsys/libToolsInjection64.so", 1);
  const Outcome under = trace({"kernels", "3"});
  EXPECT_EQ(under.status, 1);
  EXPECT_EQ(lines(under.err), 1u);
  EXPECT_NE(under.err.find("CUDA_INJECTION64_PATH is '/opt/nsys/libToolsInjection64.so'"), std::string::npos) << under.err;
}

TEST_F(Tracing, NoCuptiOrAnOldOneIsOneLine) {
  ::setenv("STAND_IN_VERSION", "18", 1);
  const Outcome old = trace({"kernels", "3"});
  EXPECT_EQ(lines(old.err), 1u);
  EXPECT_NE(old.err.find("its version is 18; expected 19 (CUDA 12.0) or newer"), std::string::npos) << old.err;
  ::unsetenv("STAND_IN_VERSION");
  ::setenv("RAFTER_CUPTI", "/none/libcupti.so", 1);
  const Outcome none = trace({"kernels", "3"});
  EXPECT_EQ(lines(none.err), 1u);
  EXPECT_NE(none.err.find("RAFTER_CUPTI is no library: '/none/libcupti.so'"), std::string::npos) << none.err;
}

TEST_F(Tracing, SignalsAreHandedOn) {
  const Outcome outcome = trace({"kernels", "10", "sleep", "20000"}, {}, {.interrupt_after_ms = 900});
  EXPECT_EQ(outcome.status, 130);
  EXPECT_NE(outcome.out.find("10 kernels"), std::string::npos) << outcome.out << outcome.err;
}

void expect_refused(const std::vector<std::string>& arguments, const std::string& part) {
  const Outcome outcome = test::rafter(arguments);
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
}

TEST_F(Tracing, CommandsThatCannotRunAreRefused) {
  expect_refused({"trace", "--", "no-such-program", "x"}, "the command 'no-such-program' is not found");
  expect_refused({"trace", "--", folder.path()}, "is not to be run: Permission denied");
  expect_refused({"trace", "--", folder.write("plain.txt", std::string_view("text"))}, "is not to be run: Permission denied");
  expect_refused({"trace", "--"}, "the command after -- is missing");
  expect_refused({"trace", "--", ""}, "the command after -- is missing");
}

TEST_F(Tracing, OptionsOfTheOtherKindAreRefusedByName) {
  expect_refused({"trace", "-d", "5", "--", kProgram}, "-d is given together with a command");
  expect_refused({"trace", "model.gguf", "--", kProgram}, "-m is given together with a command");
  expect_refused({"trace", "--layers", "--from", folder.path()}, "--layers is given together with --from");
  expect_refused({"trace", "model.gguf", "--skip", "2"}, "--skip is given together with a model");
  expect_refused({"trace", "--from", folder.path(), "--", kProgram}, "--from is given together with a command");
  expect_refused({"trace", "--from", folder.path(), "--keep", folder.path()}, "--keep is given together with --from");
}

TEST_F(Tracing, PerfettoAndThePageAreWritten) {
  const std::string trace_file = folder.path("t.json"), page = folder.path("t.html");
  const Outcome outcome = trace({"kernels", "9", "everything"}, {"--perfetto", trace_file, "--html", page, "--top", "0"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json timeline = json::parse(std::ifstream(trace_file));
  EXPECT_GE(timeline["traceEvents"].size(), 9u);
  std::ostringstream text;
  text << std::ifstream(page).rdbuf();
  EXPECT_NE(text.str().find("One step, kernel by kernel"), std::string::npos);
  EXPECT_EQ(outcome.out.find("--top"), std::string::npos);
}

TEST_F(Tracing, KeptRecordingsAreReadBack) {
  const std::string kept = folder.path("deep/kept");
  const Outcome first = trace({"kernels", "3", "run", "kernels", "5"}, {"--keep", kept, "--json"});
  const json traced = json::parse(first.out);
  EXPECT_EQ(traced["schema"], "rafter.command_trace/1");
  EXPECT_EQ(traced["exit_status"], 0);
  EXPECT_GT(traced["wall_s"], 0.0);
  ASSERT_EQ(traced["processes"].size(), 2u);
  EXPECT_EQ(traced["processes"][1]["events"]["kernel"], 5);
  EXPECT_TRUE(traced["processes"][1]["fault"].is_null());
  json read = json::parse(test::rafter({"trace", "--from", kept, "--json"}).out), processes = traced["processes"];
  for (json* list : {&read["processes"], &processes}) {
    for (json& process : *list) EXPECT_EQ(process["step"].erase("command"), 1u);  // how `rafter` was called
  }
  EXPECT_EQ(read["processes"], processes);
  EXPECT_TRUE(read["exit_status"].is_null());
  const Outcome one = test::rafter({"trace", "--from", recordings_at(kept).at(1)});
  EXPECT_EQ(one.out.find("3 kernels,"), std::string::npos);
  EXPECT_NE(one.out.find("5 kernels"), std::string::npos);
  expect_refused({"trace", "--keep", kept, "--", kProgram, "start"}, "is a folder that holds recordings");
  expect_refused({"trace", "--from", folder.path("deep")}, "is a folder without recordings");
  expect_refused({"trace", "--from", folder.path("none.rec")}, "No such file");
  expect_refused({"trace", "--keep", folder.write("file", std::string_view("x")), "--", kProgram}, "/file'");
}

}  // namespace
}  // namespace rafter
