#include "rafter/machine/datasheet.h"

namespace rafter {

namespace {

// NVIDIA's data sheets of each product; tensor rates are half of the printed ones where those count sparsity.
const std::vector<Datasheet>& sheets() {
  using enum MathUnit;
  static const std::vector<std::pair<MathUnit, double>> hopper_sxm = {
      {fp64, 67e12}, {fp32, 67e12}, {tf32, 494e12}, {f16, 989e12}, {bf16, 989e12}, {fp8, 1979e12}, {int8, 1979e12}};
  static const std::vector<Datasheet> list = {
      {"NVIDIA H200", 4.8e12, hopper_sxm},
      {"NVIDIA H100 80GB HBM3", 3.35e12, hopper_sxm},
      {"NVIDIA A100-SXM4-80GB",
       2.039e12,
       {{fp64, 19.5e12}, {fp32, 19.5e12}, {tf32, 156e12}, {f16, 312e12}, {bf16, 312e12}, {int8, 624e12}}},
      {"NVIDIA GeForce RTX 4090",
       1.008e12,
       {{fp32, 82.6e12}, {tf32, 82.6e12}, {f16, 165e12}, {bf16, 165e12}, {fp8, 330e12}, {int8, 661e12}}},
  };
  return list;
}

}  // namespace

std::optional<Datasheet> datasheet(std::string_view device_name) {
  for (const Datasheet& sheet : sheets()) {
    if (device_name.starts_with(sheet.product)) return sheet;
  }
  return {};
}

}  // namespace rafter
