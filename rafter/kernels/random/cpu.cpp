// Random numbers on the CPU: element i is number i of the seed, whatever the threads.
#include "rafter/base/error.h"
#include "rafter/base/threads.h"
#include "rafter/kernels/host_values.h"
#include "rafter/kernels/random/random.h"

namespace rafter {

namespace {

constexpr int64_t kPiece = 1 << 12;  // elements a thread makes at a time

// Elements begin .. end, counted row by row.
void fill_range(const Tensor& tensor, uint64_t seed, float low, float high, int64_t begin, int64_t end) {
  const int64_t width = tensor.shape.last();
  Philox4 four = philox(seed, static_cast<uint64_t>(begin) >> 2);
  for (int64_t row = begin / width, column = begin % width, i = begin; i < end; ++i, ++column) {
    if (i % 4 == 0) four = philox(seed, static_cast<uint64_t>(i) >> 2);
    if (column == width) {
      ++row;
      column = 0;
    }
    write_value(tensor.dtype, tensor.row(row), column, random_between(four.word[i & 3], low, high));
  }
}

}  // namespace

void fill_uniform(const Tensor& tensor, uint64_t seed, float low, float high, Stream& stream) {
  if (tensor.dtype != DType::f32 && tensor.dtype != DType::f16 && tensor.dtype != DType::bf16) {
    throw input_error(
        {"the dtype of a tensor to fill with random values", std::string(name(tensor.dtype)), "f32, f16 or bf16"});
  }
  if (tensor.device.kind == DeviceKind::cpu) {
    return cpu_threads().for_range(tensor.shape.elements(), kPiece,
                                   [&](int64_t begin, int64_t end) { fill_range(tensor, seed, low, high, begin, end); });
  }
#ifdef RAFTER_WITH_CUDA
  fill_uniform_cuda(tensor, seed, low, high, stream);
#else
  (void)stream;
  throw runtime_failure({"the device of a tensor to fill", "cuda", "cpu: this build has no CUDA"});
#endif
}

}  // namespace rafter
