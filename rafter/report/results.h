// Results files, schema "rafter.results/1": a machine, what was run on it, and one row for each thing measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rafter/device/device.h"
#include "rafter/measure/gpu_state.h"

namespace rafter {

// A fact that is not known or does not apply is left empty and becomes null.
struct ResultRow {
  std::string op;    // "decode_step", "prefill_step", "matmul", ...
  std::string impl;  // "rafter", "rafter:12_clustered", "peer:cublaslt"
  std::string dtype;
  std::vector<std::pair<std::string, int64_t>> shape;
  std::string cache;  // "cold", "warm"
  double median_s = 0, iqr_s = 0;
  int64_t samples = 0;
  double bytes = 0, flops = 0;
  std::optional<double> floor_s, fraction;
  std::string peer;
  std::optional<double> ratio;
  // Rows of a whole model have these as well.
  std::string model, executor;
  std::optional<int64_t> batch, context;
  std::optional<double> tokens_per_s, tokens_per_s_sigma;
};

struct ResultsFile {
  DeviceInfo machine;
  GpuState state;       // while it was measured; unknown clocks become null
  int cpu_threads = 0;  // on the CPU
  std::string command;
  std::vector<ResultRow> rows;
};

// The document; commit and date are filled in.
std::string results_json(const ResultsFile& file);

}  // namespace rafter
