// JSON of a profiler: a PyTorch trace or Rafter's own results, packed by gzip or not.
#include "rafter/measure/profiles/bottleneck.h"
#include "rafter/measure/profiles/gzip_text.h"
#include "rafter/measure/profiles/pytorch_trace.h"
#include "rafter/measure/profiles/rafter_json.h"
#include "tests/fuzz/fuzz.h"

using namespace rafter;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::expect_only_input_errors([&] {
    std::string_view text = fuzz::as_text(data, size);
    std::string unpacked;
    if (is_gzip(text)) text = unpacked = unpack_gzip(text, "fuzz");
    const auto read = size % 2 == 0 ? read_pytorch_trace : read_rafter_json;
    for (const KernelRecord& kernel : fold(read(text, "fuzz").kernels)) judge(kernel, {});
  });
  return 0;
}
