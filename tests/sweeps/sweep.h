// What the sweeps share: timing inside a CUDA graph, random operands, and rows of results.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rafter/device/buffer.h"
#include "rafter/ops/op.h"

namespace rafter::sweeps {

struct Options {
  std::string filter;  // only shapes whose name holds it
  std::vector<int> tokens = {1};
  int repeats = 7;
};

struct Row {
  std::string shape, kernel, config;
  int tokens = 1;
  double bytes = 0;
  double alone_s = 0, chained_s = 0;  // without and with programmatic dependent launch
  double error = 0;                   // relative, against the double reference
  std::string fault;                  // empty where the result was right
};

// Seconds of one of `count` consecutive enqueue(0), enqueue(1), ... in a graph: the median of `repeats` replays.
double time_in_graph(Stream& stream, int count, int repeats, const std::function<void(int)>& enqueue);

// Both ways of launching.
void time_both(Stream& stream, int count, int repeats, const std::function<void(int)>& enqueue, Row& row);

// A device tensor of uniform values of the given magnitude.
struct Filled {
  Buffer buffer;
  Tensor tensor;
};
Filled random_tensor(DType dtype, const Shape& shape, uint64_t seed, float magnitude, Stream& stream);
Filled ints(const std::vector<int32_t>& values, const Shape& shape, Stream& stream);

// The bytes of a device tensor's row as doubles; f32, f16 and bf16.
std::vector<double> read_row(const Tensor& tensor, int64_t row, Stream& stream);

// ||out - truth|| / ||truth||, infinite where any is not finite.
double relative_error(const std::vector<double>& out, const std::vector<double>& truth);

// Prints the fastest of each kernel for a shape, and all faults.
void print_best(const std::vector<Row>& rows, size_t first, int count);
nlohmann::json to_json(const Row& row);

void sweep_matmul(Stream& stream, const Options& options, std::vector<Row>& rows);
void sweep_attention(Stream& stream, const Options& options, std::vector<Row>& rows);
// A whole decode step of a model but for embed and argmax, under a few settings.
void sweep_chain(Stream& stream, const Options& options, std::vector<Row>& rows);

}  // namespace rafter::sweeps
