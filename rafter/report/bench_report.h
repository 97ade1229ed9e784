// Bench results as llama-bench's table, and as rows of a results file.
#pragma once

#include <span>

#include "rafter/engine/engine.h"
#include "rafter/measure/bench.h"
#include "rafter/report/results.h"
#include "rafter/report/table.h"

namespace rafter {

// What the results of one engine have in common.
struct BenchSubject {
  std::string model;
  DType dtype = DType::f32;
  int64_t weight_bytes = 0, parameters = 0;
  DeviceId device;
  ExecutorKind executor = ExecutorKind::eager;
  int threads = 0;
};

BenchSubject subject_of(const Engine& engine, int threads);

// Columns: model, size, params, backend, threads (on the CPU) or executor, batch where it is not 1, test, t/s, and the floor as
// a percentage of the time ("-" where the roofs are not known).
Table bench_table(const BenchSubject& subject, std::span<const BenchResult> results);
// One row a test with plain numbers in base units. Columns that llama-bench's CSV has too have its names and mean the same:
// build_commit, backends, model_type, model_size, model_n_params, n_threads, n_prompt, n_gen, n_depth, avg_ns, stddev_ns,
// avg_ts, stddev_ts. What is not known, or does not apply, is empty.
Table bench_csv(const BenchSubject& subject, std::span<const BenchResult> results);
std::vector<ResultRow> bench_rows(const BenchSubject& subject, std::span<const BenchResult> results);

}  // namespace rafter
