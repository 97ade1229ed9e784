// The inner loops of the probes, in the widest vectors that this processor has.
//
// Reads and writes go in whole vectors, four kilobytes at a time, so sizes are multiples of 4096 and addresses of 64.
#pragma once

#include <cstdint>

namespace rafter::cpu {

struct SimdLoops {
  void (*read)(const char* from, int64_t bytes);
  void (*write)(char* to, int64_t bytes);                   // into the caches
  void (*stream)(char* to, int64_t bytes);                  // around them: no line is read before it is written
  void (*copy)(const char* from, char* to, int64_t bytes);  // as stream
  // to = a + scale * b in floats, McCalpin's STREAM triad; as stream.
  void (*triad)(const char* a, const char* b, float scale, char* to, int64_t bytes);
  // So many rounds of multiply-adds in independent chains; each gives its FLOPs (int8: operations), two a multiply-add.
  double (*fma)(int64_t rounds);
  double (*int8_dot)(int64_t rounds);
  const char* int8_remark;
};

// Null where there are no vectors.
const SimdLoops* simd_loops();

// BF16 products with their own instruction (AVX512_BF16), as the above; null where this processor has none.
using MathLoop = double (*)(int64_t rounds);
MathLoop bf16_loop();

}  // namespace rafter::cpu
