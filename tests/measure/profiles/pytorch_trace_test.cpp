// torch.profiler's traces: kernels with and without ops, both spellings of older and newer versions, what such traces get
// wrong, gzip, and every truncation.
#include "rafter/measure/profiles/pytorch_trace.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "rafter/measure/profiles/gzip_text.h"
#include "tests/support/errors.h"
#include "tests/support/temp_folder.h"

namespace rafter {
namespace {

using test::expect_input_error;

// One op that launches a gemm, and, by correlation alone, a fill; then a copy.
const std::string kTrace = R"json({"schemaVersion": 1,
"deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],
"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
"traceEvents": [
{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 90.0, "dur": 50.0,
 "args": {"External id": 5, "Input Dims": [[4096, 576], [576, 960], []], "Input type": ["c10::BFloat16", "c10::BFloat16", ""]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 95.0, "dur": 4.0, "args": {"External id": 5, "correlation": 78}},
{"ph": "X", "cat": "kernel", "name": "nvjet_tst_128x256", "pid": 0, "tid": 7, "ts": 100.0, "dur": 12.5,
 "args": {"External id": 5, "device": 0, "stream": 7, "correlation": 77, "registers per thread": 168,
          "grid": [132, 1, 1], "block": [384, 1, 1], "est. achieved occupancy %": 19}},
{"ph": "X", "cat": "kernel", "name": "void fill<float>(float*)",
                  "ts" : 120.0, "dur" : 2.5, "args" : {
  "device" : 0, "stream" : 7, "correlation" : 78
}
},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH", "ts": 130.0, "dur": 1.0, "args": {"device": 0, "stream": 7, "bytes": 4096}}
], "traceName": "x.json"
})json";

Profile read(const std::string& json) { return read_pytorch_trace(json, "t.json"); }

std::string trace_of(const std::string& events) { return "{\"traceEvents\": [" + events + "]}"; }
std::string kernel_event(const std::string& name, const std::string& fields) {
  return R"({"ph": "X", "cat": "kernel", "name": ")" + name + "\", " + fields + "}";
}

std::string gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(PytorchTrace, KernelsWithTheOpThatLaunchedThem) {
  const Profile profile = read(kTrace);
  EXPECT_EQ(profile.device, "NVIDIA H200");
  EXPECT_EQ(profile.rank, 3);
  EXPECT_EQ(profile.world_size, 8);
  ASSERT_EQ(profile.kernels.size(), 2u);
  const KernelRecord& gemm = profile.kernels[0];
  EXPECT_EQ(gemm.name, "nvjet_tst_128x256");
  EXPECT_EQ(gemm.op, "aten::mm");
  EXPECT_EQ(gemm.shapes, "[4096,576] x [576,960]");
  EXPECT_EQ(gemm.dtype, "bf16") << "the name does not tell, the op's inputs do";
  EXPECT_DOUBLE_EQ(gemm.seconds.value(), 12.5e-6);
  EXPECT_EQ(gemm.grid, (Dim3{132, 1, 1}));
  EXPECT_EQ(gemm.block, (Dim3{384, 1, 1}));
  EXPECT_EQ(gemm.stream, 7);
  EXPECT_EQ(gemm.registers_per_thread, 168.0);
  EXPECT_FALSE(gemm.achieved_occupancy.has_value()) << "an estimate is no measurement";
  const KernelRecord& fill = profile.kernels[1];
  EXPECT_EQ(fill.op, "aten::mm") << "through the launch of the same correlation";
  EXPECT_EQ(fill.dtype, "f32");
  EXPECT_NEAR(fill.gap_seconds.value(), 7.5e-6, 1e-12);
  EXPECT_EQ(profile.copies.count, 1);
  EXPECT_DOUBLE_EQ(profile.copies.bytes, 4096);
  ASSERT_EQ(profile.remarks.size(), 1u);
  EXPECT_NE(profile.remarks[0].find("rank 3 of 8"), std::string::npos);
}

std::string op_event(const std::string& name, int id, const std::string& arguments) {
  return R"({"ph": "X", "cat": "cpu_op", "name": ")" + name + R"(", "ts": 1, "dur": 1, "args": {"External id": )" +
         std::to_string(id) + ", " + arguments + "}}";
}
std::string kernel_of(const std::string& name, int op, double start, double duration) {
  return kernel_event(name, fmt::format("\"ts\": {}, \"dur\": {}, \"args\": {{\"External id\": {}}}", start, duration, op));
}
const std::string kMatrices = R"("Input Dims": [[2, 3], [3, 5]], "Input type": ["float", "float"])";

TEST(PytorchTrace, KernelsHaveTheNeedsOfTheOpThatLaunchedThem) {
  const KernelRecord gemm = read(kTrace).kernels[0];
  EXPECT_DOUBLE_EQ(gemm.needed_flops.value(), 2.0 * 4096 * 576 * 960);
  EXPECT_DOUBLE_EQ(gemm.needed_bytes.value(), 2.0 * (4096 * 576 + 576 * 960 + 4096 * 960));
  EXPECT_FALSE(read(kTrace).kernels[1].needed_flops.has_value()) << "the op's other kernel";
}

TEST(PytorchTrace, TheLongestOfAnOpsKernelsHasAllItsNeeds) {
  const Profile profile =
      read(trace_of(op_event("aten::mm", 5, kMatrices) + "," + kernel_of("first", 5, 10, 2) + "," +
                    kernel_of("split", 5, 20, 8) + "," + kernel_of("sum", 5, 30, 4) + "," + kernel_of("other", 6, 40, 50)));
  ASSERT_EQ(profile.kernels.size(), 4u);
  for (const KernelRecord& kernel : profile.kernels) {
    EXPECT_EQ(kernel.needed_flops, kernel.name == "split" ? Quantity(60) : std::nullopt) << kernel.name;
    EXPECT_EQ(kernel.needed_bytes, kernel.name == "split" ? Quantity(4 * 31) : std::nullopt) << kernel.name;
  }
}

TEST(PytorchTrace, TheMathsIsOfTheInputsTypeAndOfF32TheKernelTells) {
  const auto dtype = [](const std::string& type, const std::string& kernel) {
    const std::string arguments = R"("Input Dims": [[2, 3], [3, 5]], "Input type": [")" + type + "\", \"" + type + "\"]";
    return read(trace_of(op_event("aten::mm", 5, arguments) + "," + kernel_of(kernel, 5, 10, 2))).kernels.at(0).dtype;
  };
  EXPECT_EQ(dtype("c10::BFloat16", "flash_wgmma_f16"), "bf16") << "the name is that of a family";
  EXPECT_EQ(dtype("float", "nvjet_sss_tf32_128x256_TNT"), "tf32");
  EXPECT_EQ(dtype("float", "ampere_sgemm_128x64_nn"), "f32");
  EXPECT_EQ(dtype("float", "k"), "f32");
}

TEST(PytorchTrace, StridesValuesAndListsOfAnOpAreRead) {
  const auto kernel = [](const std::string& op, const std::string& arguments, const std::string& name) {
    return read(trace_of(op_event(op, 5, arguments) + "," + kernel_of(name, 5, 10, 2))).kernels.at(0);
  };
  const std::string expanded = R"("Input Dims": [[6, 10]], "Input Strides": [[0, 1]], "Input type": ["float"])";
  EXPECT_EQ(kernel("aten::exp", expanded, "k").needed_bytes, 4.0 * (10 + 60));
  const std::string by_rows =
      R"("Input Dims": [[6, 10], [], []], "Input type": ["float", "ScalarList", "Scalar"], "Concrete Inputs": ["", "[-1]", "False"])";
  EXPECT_EQ(kernel("aten::sum", by_rows, "k").needed_bytes, 4.0 * (60 + 6));
  const std::string list =
      R"("Input Dims": [[[2, 3], [4, 3]], []], "Input Strides": [[[3, 1], [3, 1]], []], "Input type": ["TensorList", "Scalar"])";
  EXPECT_EQ(kernel("aten::cat", list, "CatArrayBatchedCopy<OpaqueType<2u>, unsigned int>").needed_bytes, 2.0 * 36);
  EXPECT_EQ(kernel("aten::cat", list, "CatArrayBatchedCopy<OpaqueType<2u>, unsigned int>").needed_flops, 0.0);
  EXPECT_FALSE(kernel("aten::cat", list, "CatArrayBatchedCopy<T>").needed_bytes.has_value()) << "of which size?";
}

TEST(PytorchTrace, InputsThatCannotBeNeedNothing) {
  for (
      const char* arguments :
      {R"("Input Dims": 5)", R"("Input Dims": [])", R"("Input Dims": [[2, 3], [3, 5]])", R"("Input Dims": [[2, 3], "x"])",
       R"("Input Dims": [[2, "a"], [3, 5]], "Input type": ["float", "float"])",
       R"("Input Dims": [[2, 3], {}], "Input type": ["float", "float"])", R"("Input Dims": [[2, 3], [3, 5]], "Input type": 7)",
       R"("Input Dims": [[2, 3], [3, 5]], "Input type": ["float"])",
       R"("Input Dims": [[2, 3], [3, 5]], "Input type": [null, ["float"]])",
       R"("Input Dims": [[2, 3], [[3, 5]]], "Input type": ["float", "float"])",
       R"("Input Dims": [[2, -3], [-3, 5]], "Input type": ["float", "float"])",
       R"("Input Dims": [[2, 18446744073709551615], [3, 5]], "Input type": ["float", "float"])",
       R"("Input Dims": [[9223372036854775807, 9223372036854775807], [9223372036854775807, 9]], "Input type": ["float", "float"])",
       R"("Input Dims": [[2, 1.5], [1.5, 5]], "Input type": ["float", "float"])"}) {
    const Profile profile = read(trace_of(op_event("aten::mm", 5, arguments) + "," + kernel_of("k", 5, 10, 2)));
    ASSERT_EQ(profile.kernels.size(), 1u) << arguments;
    EXPECT_FALSE(profile.kernels[0].needed_flops.has_value()) << arguments;
    EXPECT_FALSE(profile.kernels[0].needed_bytes.has_value()) << arguments;
  }
}

TEST(PytorchTrace, OlderSpellings) {
  const Profile profile = read(trace_of(
      R"({"ph": "X", "cat": "Operator", "name": "aten::add", "ts": 1, "dur": 1, "args": {"External id": "9", "Input dims": [[3]]}},
         {"ph": "X", "cat": "Kernel", "name": "k", "ts": 5, "dur": 2, "args": {"external id": "9", "device": 0, "stream": 7}})"));
  ASSERT_EQ(profile.kernels.size(), 1u);
  EXPECT_EQ(profile.kernels[0].op, "aten::add");
  EXPECT_EQ(profile.kernels[0].shapes, "[3]");
}

TEST(PytorchTrace, ABareListOfEventsIsATraceToo) {
  EXPECT_EQ(read("[" + kernel_event("k", "\"ts\": 1, \"dur\": 2") + ",]").kernels.size(), 1u);
}

TEST(PytorchTrace, ZeroAndMissingDurationsAreUnknown) {
  const Profile profile =
      read(trace_of(kernel_event("a", "\"ts\": 1, \"dur\": 0") + "," + kernel_event("b", "\"ts\": 2") + "," +
                    kernel_event("c", "\"ts\": 3, \"dur\": -1") + "," + kernel_event("d", "\"ts\": 4, \"dur\": 1")));
  ASSERT_EQ(profile.kernels.size(), 4u);
  EXPECT_EQ(profile.kernels[0].name, "d") << "timed ones first";
  EXPECT_TRUE(profile.kernels[0].seconds.has_value());
  for (size_t i = 1; i < 4; ++i) EXPECT_FALSE(profile.kernels[i].seconds.has_value());
  EXPECT_NE(profile.remarks.at(0).find("3 kernels without a duration"), std::string::npos);
}

TEST(PytorchTrace, OverlapOnOneTrackIsNoNegativeGap) {
  const std::string where = R"("args": {"device": 0, "stream": 7})";
  const Profile profile = read(trace_of(kernel_event("long", "\"ts\": 10, \"dur\": 100, " + where) + "," +
                                        kernel_event("inside", "\"ts\": 20, \"dur\": 5, " + where) + "," +
                                        kernel_event("after", "\"ts\": 112, \"dur\": 5, " + where)));
  EXPECT_EQ(profile.kernels[1].gap_seconds, 0.0);
  EXPECT_NEAR(profile.kernels[2].gap_seconds.value(), 2e-6, 1e-12) << "since the long one ended";
}

TEST(PytorchTrace, ControlCharactersAndBadUtf8InNames) {
  const Profile profile = read(trace_of(kernel_event("a\x01\n\\tb\\u0007 \\\"q\\\"", "\"ts\": 1, \"dur\": 2") + "," +
                                        kernel_event("caf\xe9", "\"ts\": 4, \"dur\": 2")));
  ASSERT_EQ(profile.kernels.size(), 2u);
  EXPECT_EQ(profile.kernels[0].name, "a   b  \"q\"");
  EXPECT_EQ(profile.kernels[1].name, "caf?");
}

TEST(PytorchTrace, EventsOfOddShapesAreNoKernels) {
  const Profile profile =
      read(trace_of("1, null, \"x\", [], {}, {\"cat\": 5}, {\"ph\": \"B\", \"cat\": \"kernel\", \"name\": \"open\"}," +
                    kernel_event("k", R"("ts": "soon", "dur": {}, "args": {"grid": [1, 2], "stream": [], "device": 1.5})")));
  ASSERT_EQ(profile.kernels.size(), 1u);
  EXPECT_FALSE(profile.kernels[0].seconds.has_value());
  EXPECT_FALSE(profile.kernels[0].grid.has_value());
  EXPECT_FALSE(profile.kernels[0].stream.has_value());
}

TEST(PytorchTrace, EveryTruncationIsAnErrorWithItsPlace) {
  for (size_t length = 0; length < kTrace.size(); ++length) {
    expect_input_error([&] { read(kTrace.substr(0, length)); }, {"'t.json'", "line ", "column ", "cut off"});
  }
}

TEST(PytorchTrace, DamageIsNamedByLineAndColumn) {
  expect_input_error([] { read("{\"traceEvents\": [\n {\"ph\" \"X\"}]}"); }, {"line 2, column 2", "not readable"});
  expect_input_error([] { read("{\"traceEvents\": [\n {} {}]}"); }, {"line 2, column 5", "expected ','"});
  expect_input_error([] { read("{traceEvents: []}"); }, {"line 1, column 2", "a key in quotes"});
  expect_input_error([] { read("{\"traceEvents\": []} x"); }, {"line 1, column 21", "nothing after"});
  expect_input_error([] { read("hello"); }, {"line 1, column 1", "an object"});
  expect_input_error([] { read("{\"a\": " + std::string(100000, '[') + std::string(100000, ']') + "}"); },
                     {"line 1, column 7", "not readable"});
  expect_input_error([] { read("[" + std::string(100000, ']')); }, {"t.json"});
}

TEST(PytorchTrace, WithoutKernelsItSaysSo) {
  expect_input_error([] { read("{\"traceEvents\": []}"); }, {"without a trace event", "kernel"});
  expect_input_error([] { read(trace_of("{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\"}")); },
                     {"1 events without a GPU kernel", "ProfilerActivity.CUDA"});
}

TEST(GzipText, IsUnpackedAndJudgedByContent) {
  test::TempFolder folder;
  const std::string packed = gzip(kTrace);
  EXPECT_EQ(unpack_gzip(packed, "t.gz"), kTrace);
  EXPECT_EQ(unpack_gzip(gzip("one ") + gzip("two"), "t.gz"), "one two") << "members follow each other";
  EXPECT_EQ(unpack_gzip(gzip("one") + std::string(20, '\0'), "t.gz"), "one") << "padding";
  EXPECT_EQ(read_profile(folder.write("no_ending", packed)).kernels.size(), 2u);
}

TEST(GzipText, EveryTruncationIsAnError) {
  const std::string packed = gzip(kTrace);
  for (size_t length = 3; length < packed.size(); ++length) {
    expect_input_error([&] { unpack_gzip(packed.substr(0, length), "t.gz"); }, {"'t.gz'", "cut off"});
  }
  std::string damaged = packed;
  damaged[packed.size() / 2] = static_cast<char>(~damaged[packed.size() / 2]);
  expect_input_error([&] { unpack_gzip(damaged, "t.gz"); }, {"'t.gz'", "damaged"});
}

TEST(GzipText, ABombIsRefusedWithTheLimit) {
  const std::string packed = gzip(std::string(size_t{70} << 20, ' '));
  expect_input_error([&] { unpack_gzip(packed, "bomb.gz"); }, {"'bomb.gz'", "64 MiB", "4 GiB"});
}

}  // namespace
}  // namespace rafter
