// An Nsight Compute table, and the numbers in it in any locale; then the judgement of every kernel that is read.
#include "rafter/measure/profiles/bottleneck.h"
#include "rafter/measure/profiles/ncu_csv.h"
#include "tests/fuzz/fuzz.h"

using namespace rafter;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::expect_only_input_errors([&] {
    const Profile profile = read_ncu_csv(fuzz::as_text(data, size), "fuzz");
    for (const KernelRecord& kernel : fold(profile.kernels)) judge(kernel, {});
  });
  return 0;
}
