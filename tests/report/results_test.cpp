#include "rafter/report/results.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "rafter/report/bench_report.h"
#include "rafter/report/build_info.h"
#include "rafter/report/trace_report.h"
#include "tests/support/tiny_model.h"

namespace rafter {
namespace {

using nlohmann::json;

TEST(Results, ADocumentHasTheSchemaAndNullForWhatIsNotKnown) {
  ResultsFile file;
  file.machine.id = {DeviceKind::cuda, 0};
  file.machine.name = "NVIDIA H200";
  file.machine.driver = "13.0";
  file.state.sm_clock_hz = 1.98e9;
  file.command = "rafter bench";
  ResultRow row;
  row.op = "matmul";
  row.impl = "rafter:01_naive";
  row.dtype = "bf16";
  row.shape = {{"m", 4}, {"n", 5}};
  row.median_s = 1e-3;
  row.iqr_s = std::numeric_limits<double>::quiet_NaN();
  file.rows = {row};
  const json document = json::parse(results_json(file));
  EXPECT_EQ(document["schema"], "rafter.results/1");
  EXPECT_EQ(document["machine"]["name"], "NVIDIA H200");
  EXPECT_EQ(document["machine"]["sm_clock_hz"], 1.98e9);
  EXPECT_TRUE(document["machine"]["mem_clock_hz"].is_null());
  EXPECT_EQ(document["commit"], std::string(build_info().commit));
  EXPECT_TRUE(document["dirty"].is_boolean());
  EXPECT_EQ(document["date"].get<std::string>().size(), std::string("2026-01-01T00:00:00Z").size());
  const json& first = document["rows"][0];
  EXPECT_EQ(first["shape"]["n"], 5);
  EXPECT_EQ(first["median_s"], 1e-3);
  for (const char* unknown : {"iqr_s", "cache", "floor_s", "fraction", "peer", "ratio"})
    EXPECT_TRUE(first[unknown].is_null()) << unknown;
  EXPECT_FALSE(first.contains("tokens_per_s"));
}

struct Bench {
  BenchSubject subject = {"tiny", DType::bf16, 2 << 20, 1000000, {}, ExecutorKind::eager, 2};
  std::vector<BenchResult> results;
  Bench() {
    BenchResult decode;
    decode.test = {BenchKind::decode, 10, 64};
    decode.seconds = {1, 2, 2};
    decode.cost.bytes_read = 5000;
    decode.cost.work = work_on(MathUnit::bf16, 20000);
    BenchResult prefill;
    prefill.test = {BenchKind::prefill, 100, 0};
    prefill.seconds = {0.5};
    results = {prefill, decode};
  }
};

TEST(BenchReport, TheTableIsLlamaBenchs) {
  const Bench bench;
  EXPECT_EQ(bench_table(bench.subject, bench.results).csv(),
            "model,size,params,backend,threads,test,t/s,% of roof\n"
            "tiny bf16,2.00 MiB,1.00 M,cpu,2,pp100,200.00,-\n"
            "tiny bf16,2.00 MiB,1.00 M,cpu,2,tg10 @ d64,6.67 ± 2.89,-\n");
}

TEST(BenchReport, AFloorGivesTheFractionOfTheMedianStep) {
  Bench bench;
  bench.results[1].floor = Floor{.seconds = 0.05, .memory_seconds = 0.05};
  EXPECT_NE(bench_table(bench.subject, bench.results).csv().find("6.67 ± 2.89,25.0\n"), std::string::npos);
  const std::vector<ResultRow> rows = bench_rows(bench.subject, bench.results);
  EXPECT_FALSE(rows[0].floor_s);
  EXPECT_FALSE(rows[0].fraction);
  EXPECT_DOUBLE_EQ(rows[1].floor_s.value(), 0.05);
  EXPECT_DOUBLE_EQ(rows[1].fraction.value(), 0.25);  // ten steps in two seconds
}

TEST(BenchReport, RowsAreOfOneStep) {
  const Bench bench;
  const std::vector<ResultRow> rows = bench_rows(bench.subject, bench.results);
  EXPECT_EQ(rows[0].op, "prefill_step");
  EXPECT_DOUBLE_EQ(rows[0].median_s, 0.5);
  EXPECT_DOUBLE_EQ(rows[0].tokens_per_s.value(), 200);
  EXPECT_EQ(rows[1].op, "decode_step");
  EXPECT_DOUBLE_EQ(rows[1].median_s, 0.2);
  EXPECT_DOUBLE_EQ(rows[1].bytes, 500);
  EXPECT_DOUBLE_EQ(rows[1].flops, 2000);
  EXPECT_DOUBLE_EQ(rows[1].tokens_per_s.value(), 5);
  EXPECT_EQ(rows[1].samples, 3);
  EXPECT_EQ(rows[1].context, 64);
}

class TraceReport : public testing::Test {
 protected:
  TraceReport() : checkpoint(Checkpoint::random(test::tiny_config(Architecture::llama), DType::f32)), engine(checkpoint, {}) {
    TracedOp op;
    op.name = "qkv";
    op.shape = "m=1 n=64 k=32 f32";
    op.kernel = "01_naive";
    op.seconds = 1e-6;
    op.cost = {3000, 1000, {4096}};
    for (op.layer = 0; op.layer < 2; ++op.layer) trace.ops.push_back(op);
    op.name = "head";
    op.layer = -1;
    trace.ops.push_back(op);
    trace.step_seconds = 5e-6;
    trace.method = "By hand.";
  }
  Checkpoint checkpoint;
  Engine engine;
  StepTrace trace;
};

TEST_F(TraceReport, TextFoldsLayersAndSaysTheGap) {
  const std::string text = trace_text(engine, trace, false);
  EXPECT_NE(text.find("qkv                      x2  m=1 n=64 k=32 f32  8.00 kB  8.19 kFLOP  2.00 us   4.0   40.0%      -       "
                      "   -  01_naive"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Step less sum: 2.00 us (40.0%)."), std::string::npos) << text;
  EXPECT_NE(text.find("200000.0 tokens/s"), std::string::npos) << text;
  EXPECT_NE(text.find("By hand."), std::string::npos) << text;
  const std::string unfolded = trace_text(engine, trace, true);
  EXPECT_EQ(unfolded.find("x2"), std::string::npos) << unfolded;
}

TEST_F(TraceReport, FloorsStandBesideTheTimes) {
  for (TracedOp& op : trace.ops) op.floor = Floor{.seconds = 0.5e-6, .memory_seconds = 0.1e-6, .math_seconds = 0.5e-6};
  trace.floor = Floor{.seconds = 1e-6, .memory_seconds = 1e-6};
  const std::string text = trace_text(engine, trace, false);
  EXPECT_NE(text.find("40.0%  1.00 us       50.0  01_naive"), std::string::npos) << text;
  EXPECT_NE(text.find("100.0%  1.00 us       20.0\n"), std::string::npos) << text;
  const json document = json::parse(trace_json(engine, trace, ""));
  EXPECT_DOUBLE_EQ(document["ops"][0]["fraction"].get<double>(), 0.5);
  EXPECT_EQ(document["ops"][0]["limit"], "math");
  EXPECT_DOUBLE_EQ(document["step"]["floor_s"].get<double>(), 1e-6);
  EXPECT_EQ(document["step"]["limit"], "memory");
}

TEST_F(TraceReport, AnOpOfNoTimeHasNoFraction) {
  for (TracedOp& op : trace.ops) op.floor = Floor{.seconds = 0.5e-6};
  trace.ops[0].seconds = 0;
  trace.ops[2].floor.reset();
  const json document = json::parse(trace_json(engine, trace, ""));
  EXPECT_TRUE(document["ops"][0]["fraction"].is_null());
  EXPECT_DOUBLE_EQ(document["ops"][0]["floor_s"].get<double>(), 0.5e-6);
  EXPECT_FALSE(trace.op_floor());  // the sum is not known where one is not
}

TEST_F(TraceReport, JsonHasEveryOp) {
  const json document = json::parse(trace_json(engine, trace, "rafter trace"));
  EXPECT_EQ(document["schema"], "rafter.trace/1");
  ASSERT_EQ(document["ops"].size(), 3u);
  EXPECT_EQ(document["ops"][1]["layer"], 1);
  EXPECT_TRUE(document["ops"][2]["layer"].is_null());
  EXPECT_EQ(document["ops"][0]["bytes_read"], 3000);
  EXPECT_DOUBLE_EQ(document["step"]["gap_s"].get<double>(), 2e-6);
  for (const char* unknown : {"floor_s", "fraction", "limit"}) {
    EXPECT_TRUE(document["ops"][0][unknown].is_null()) << unknown;
    EXPECT_TRUE(document["step"][unknown].is_null()) << unknown;
  }
}

}  // namespace
}  // namespace rafter
