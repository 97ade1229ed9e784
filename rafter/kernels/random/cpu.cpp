#include "rafter/base/error.h"
#include "rafter/base/threads.h"
#include "rafter/kernels/host_values.h"
#include "rafter/kernels/random/random.h"

namespace rafter {

namespace {

void fill_uniform_cpu(const Tensor& tensor, uint64_t seed, float low, float high) {
  const int64_t width = tensor.shape.last();
  cpu_threads().for_range(tensor.shape.rows(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t i = 0; i < width; ++i) {
        write_value(tensor.dtype, tensor.row(row), i, random_between(seed, static_cast<uint64_t>(row * width + i), low, high));
      }
    }
  });
}

}  // namespace

void fill_uniform(const Tensor& tensor, uint64_t seed, float low, float high, Stream& stream) {
  if (tensor.dtype != DType::f32 && tensor.dtype != DType::f16 && tensor.dtype != DType::bf16) {
    throw input_error(
        {"the dtype of a tensor to fill with random values", std::string(name(tensor.dtype)), "f32, f16 or bf16"});
  }
  if (tensor.device.kind == DeviceKind::cpu) return fill_uniform_cpu(tensor, seed, low, high);
#ifdef RAFTER_WITH_CUDA
  fill_uniform_cuda(tensor, seed, low, high, stream);
#else
  (void)stream;
  throw runtime_failure({"the device of a tensor to fill", "cuda", "cpu: this build has no CUDA"});
#endif
}

}  // namespace rafter
