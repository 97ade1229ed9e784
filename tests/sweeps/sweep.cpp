#include "tests/sweeps/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "rafter/device/cuda/launch.h"
#include "rafter/kernels/random/random.h"
#include "rafter/ops/reference.h"

namespace rafter::sweeps {

double time_in_graph(Stream& stream, int count, int repeats, const std::function<void(int)>& enqueue) {
  stream.begin_capture();
  for (int i = 0; i < count; ++i) enqueue(i);
  const auto graph = stream.end_capture();
  const auto start = stream.make_event(), stop = stream.make_event();
  std::vector<double> seconds;
  for (int r = -2; r < repeats; ++r) {
    stream.record(*start);
    graph->launch(stream);
    stream.record(*stop);
    stop->wait();
    if (r >= 0) seconds.push_back(stop->seconds_since(*start));
  }
  std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
  return seconds[static_cast<size_t>(repeats / 2)] / count;
}

void time_both(Stream& stream, int count, int repeats, const std::function<void(int)>& enqueue, Row& row) {
  cuda::enable_dependent_launch(false);
  row.alone_s = time_in_graph(stream, count, repeats, enqueue);
  cuda::enable_dependent_launch(true);
  row.chained_s = time_in_graph(stream, count, repeats, enqueue);
}

Filled random_tensor(DType dtype, const Shape& shape, uint64_t seed, float magnitude, Stream& stream) {
  Filled filled;
  Device& on = device(stream.device());
  filled.buffer = Buffer(on, shape.rows() * row_bytes(dtype, shape.last()));
  filled.tensor = filled.buffer.tensor(dtype, shape);
  fill_uniform(filled.tensor, seed, -magnitude, magnitude, stream);
  return filled;
}

Filled ints(const std::vector<int32_t>& values, const Shape& shape, Stream& stream) {
  Filled filled;
  filled.buffer = Buffer(device(stream.device()), static_cast<int64_t>(values.size() * sizeof(int32_t)));
  filled.tensor = filled.buffer.tensor(DType::i32, shape);
  stream.copy_in(filled.buffer.data(), values.data(), filled.buffer.bytes());
  stream.synchronize();
  return filled;
}

std::vector<double> read_row(const Tensor& tensor, int64_t row, Stream& stream) {
  const int64_t width = tensor.shape.last(), bytes = row_bytes(tensor.dtype, width);
  std::vector<std::byte> host(static_cast<size_t>(bytes));
  stream.copy_out(host.data(), tensor.row(row), bytes);
  stream.synchronize();
  return to_doubles(Tensor::contiguous(tensor.dtype, {1, width}, host.data()));
}

double relative_error(const std::vector<double>& out, const std::vector<double>& truth) {
  double error = 0, size = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    if (!std::isfinite(out[i])) return std::numeric_limits<double>::infinity();
    error += (out[i] - truth[i]) * (out[i] - truth[i]);
    size += truth[i] * truth[i];
  }
  return std::sqrt(error / size);
}

void print_best(const std::vector<Row>& rows, size_t first, int count) {
  std::vector<const Row*> sorted;
  for (size_t i = first; i < rows.size(); ++i) {
    sorted.push_back(&rows[i]);
    if (!rows[i].fault.empty()) {
      fmt::print("WRONG {} T={} {} {}: {}\n", rows[i].shape, rows[i].tokens, rows[i].kernel, rows[i].config, rows[i].fault);
    }
  }
  std::sort(sorted.begin(), sorted.end(), [](const Row* a, const Row* b) { return a->chained_s < b->chained_s; });
  std::vector<std::string> kernels;
  for (const Row* row : sorted) {
    if (std::find(kernels.begin(), kernels.end(), row->kernel) == kernels.end()) kernels.push_back(row->kernel);
  }
  for (const std::string& kernel : kernels) {
    int printed = 0;
    for (const Row* row : sorted) {
      const bool chosen = row->config.starts_with("default");
      if (row->kernel != kernel || (printed >= count && !chosen)) continue;
      ++printed;
      fmt::print("{:<22} T={} {:<20} {:<44} chained {:8.2f} us {:5.2f} TB/s  alone {:8.2f} us {:5.2f} TB/s  error {:.1e}\n",
                 row->shape, row->tokens, row->kernel, row->config, row->chained_s * 1e6, row->bytes / row->chained_s * 1e-12,
                 row->alone_s * 1e6, row->bytes / row->alone_s * 1e-12, row->error);
    }
  }
  std::fflush(stdout);
}

nlohmann::json to_json(const Row& row) {
  return {{"shape", row.shape},
          {"kernel", row.kernel},
          {"config", row.config},
          {"tokens", row.tokens},
          {"bytes", row.bytes},
          {"alone_s", row.alone_s},
          {"chained_s", row.chained_s},
          {"right", row.fault.empty()},
          {"error", std::isfinite(row.error) ? nlohmann::json(row.error) : nlohmann::json()}};
}

}  // namespace rafter::sweeps
