// Which Highway targets SIMD code is compiled for: the kernels, and the probes that measure what kernels could reach.
// Include before any header of Highway.
//
// AVX3_DL (Ice Lake, Zen 4 and later) brings the byte dot products that quantised weights live on. SSSE3 machines
// without SSE4 are gone. The scalable targets are left out because their vectors cannot be kept in arrays, as register
// tiles are; such machines run the NEON code.
#pragma once

#define HWY_WANT_AVX3_DL
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
