// Rafter's own results and traces as kernels.
#include "rafter/measure/profiles/rafter_json.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace rafter {
namespace {

using test::expect_input_error;

Profile read(std::string_view json) { return read_rafter_json(json, "r.json"); }

TEST(RafterJson, RowsOfABench) {
  const Profile profile = read(R"({"schema": "rafter.results/1", "machine": {"name": "NVIDIA H200"}, "rows": [
    {"op": "matmul", "impl": "rafter:12_clustered", "dtype": "bf16", "shape": {"m": 4096, "n": 960, "k": 576}, "cache": "cold",
     "median_s": 2e-4, "bytes": 4e7, "flops": 1.4e11, "floor_s": 1.8e-4},
    {"op": "sum", "impl": "peer:cub", "dtype": "f32", "shape": {"n": 3}, "median_s": 0, "bytes": null, "floor_s": null}]})");
  EXPECT_EQ(profile.kind, ProfileKind::rafter_results);
  EXPECT_EQ(profile.device, "NVIDIA H200");
  ASSERT_EQ(profile.kernels.size(), 2u);
  const KernelRecord& matmul = profile.kernels[0];
  EXPECT_EQ(matmul.name, "rafter:12_clustered");
  EXPECT_EQ(matmul.short_name, "matmul rafter:12_clustered");
  EXPECT_EQ(matmul.shapes, "m=4096 n=960 k=576");
  EXPECT_EQ(matmul.dtype, "bf16");
  EXPECT_EQ(matmul.seconds, 2e-4);
  EXPECT_EQ(matmul.needed_bytes, 4e7);
  EXPECT_EQ(matmul.needed_flops, 1.4e11);
  EXPECT_EQ(matmul.floor_seconds, 1.8e-4);
  EXPECT_FALSE(matmul.dram_bytes().has_value()) << "needed is not measured";
  EXPECT_FALSE(profile.kernels[1].seconds.has_value());
  EXPECT_FALSE(profile.kernels[1].needed_bytes.has_value());
}

TEST(RafterJson, OpsOfATrace) {
  const Profile profile = read(R"({"schema": "rafter.trace/1", "model": "m", "dtype": "bf16", "device": "cuda:0",
      "machine": {"name": "NVIDIA H200", "uuid_hash": "00ff"}, "step": {"time_s": 1e-3}, "ops": [
    {"name": "ffn_down", "kind": "matmul", "layer": 0, "shape": "m=1 n=960 k=576 q4_1", "kernel": "02_split_k",
     "bytes_read": 1000, "bytes_written": 24, "flops": 2000, "time_s": 2e-6, "iqr_s": 1e-8}]})");
  EXPECT_EQ(profile.kind, ProfileKind::rafter_trace);
  ASSERT_EQ(profile.kernels.size(), 1u);
  EXPECT_EQ(profile.device, "NVIDIA H200");  // not "cuda:0", which is no device's name
  EXPECT_EQ(profile.kernels[0].op, "ffn_down");
  EXPECT_EQ(profile.kernels[0].name, "02_split_k");
  EXPECT_EQ(profile.kernels[0].shapes, "m=1 n=960 k=576 q4_1");
  EXPECT_EQ(profile.kernels[0].needed_bytes, 1024.0);
  EXPECT_EQ(profile.kernels[0].seconds, 2e-6);
}

TEST(RafterJson, OtherSchemasAreRefused) {
  expect_input_error([] { read(R"({"schema": "rafter.results/2", "rows": []})"); },
                     {"'rafter.results/2'", "rafter.results/1", "a version of rafter"});
  expect_input_error([] { read(R"({"schema": 5})"); }, {"without a schema"});
  expect_input_error([] { read(R"({"schema": "rafter.results/1", "rows": []})"); }, {"without a row"});
  expect_input_error([] { read("{\"schema\": \"rafter.results/1\",\n \"rows\": [{]"); }, {"line 2, column 11", "not readable"});
}

}  // namespace
}  // namespace rafter
