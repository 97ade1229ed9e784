// The bounds a config must keep, whatever file it came from. They are far above any real model and far below what would
// overflow a product of sizes.
#pragma once

#include <cstdint>
#include <string>

#include "rafter/models/config.h"

namespace rafter {

inline constexpr int64_t kMaxLayers = 4096;
inline constexpr int64_t kMaxWidth = int64_t{1} << 20;  // hidden, ffn, all heads together
inline constexpr int64_t kMaxHeads = int64_t{1} << 14;
inline constexpr int64_t kMaxHeadDim = 4096;
inline constexpr int64_t kMaxVocab = int64_t{1} << 24;
inline constexpr int64_t kMaxContext = int64_t{1} << 30;

// Each gives its value back, or throws an input Error that names `thing`.
int64_t checked_size(const std::string& thing, int64_t value, int64_t highest);  // 1 to highest
double checked_theta(const std::string& thing, double value);                    // finite, 1 or more
double checked_epsilon(const std::string& thing, double value);                  // above 0, below 1

// Whether the sizes fit together: heads that share evenly, pairs for the rotation.
void check_fit(const ModelConfig& config, const std::string& origin);

// The architecture a file names, or an input Error that lists what Rafter knows. `thing` names where it was read.
Architecture checked_architecture(const std::string& thing, const std::string& value, bool hugging_face);

}  // namespace rafter
