// A step as a sum: what no kernel can beat, and then each thing that makes it longer, up to the measured time.
//
//   floor            of the whole step, memory and maths at once
// + one at a time    floors of the kernels added up, less that: some are bound by memory and others by maths, and they run in
//                    turn. Below 0 where kernels without a floor of their own are part of the step's
// + each class       what its kernels take beyond their own floors. Below 0 where they beat them: a cache had the bytes that
//                    the floor fetches from memory
// + without a floor  the whole time of kernels whose work is not known
// + gaps             in which the GPU stood still between kernels, by cause (step_profile.h)
// + host             in which it stood still between steps
// + the recorder     what the step would take less without it, where both were measured
// + unexplained      what is left to the measured step, above or below 0; always there
// = the step
// Where the step's own floor is not known, the sum of the known floors stands in its place, and nothing is lost one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rafter/measure/recording/step_profile.h"

namespace rafter {

// Kernels that are looked at as one: of one name, or of one op of a model. Seconds a step.
struct KernelClass {
  std::string name;
  double own_seconds = 0;
  std::optional<double> floor_seconds;
};

struct StepParts {
  double seconds = 0;  // of the step as measured
  std::optional<double> floor_seconds;
  std::vector<KernelClass> classes;
  Gaps gaps{};
  double host_seconds = 0;
  double recorder_seconds = 0;  // of the recorded step, which all but `seconds` is of, longer than without the recorder
};

enum class BarKind : uint8_t { floor, in_turn, kernels, unknown_kernels, gap, host, recorder, unexplained };
const char* name(BarKind kind);  // "beyond its floor", "idle GPU" ...: what a reader is told; gaps and the host are one

struct Bar {
  BarKind kind = BarKind::floor;
  std::string name;
  double seconds = 0;
  double from_seconds = 0;  // all bars before it, added up
};

struct Waterfall {
  double seconds = 0;     // what the bars add up to
  std::vector<Bar> bars;  // parts of 0 are left out, but for `unexplained`, the last

  double unexplained() const { return bars.empty() ? 0 : bars.back().seconds; }
  bool adds_up() const;  // to within 1%
};

// The `most` classes with a floor that lose most have a bar each, and as many of those without; the others share one.
Waterfall waterfall(const StepParts& parts, size_t most = 8);

}  // namespace rafter
