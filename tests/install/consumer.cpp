// The least that a program outside can do with the library: name the devices it would use and a model it could run.
#include <fmt/format.h>

#include "rafter/device/device.h"
#include "rafter/kernels/all.h"
#include "rafter/models/config.h"

int main() {
  const rafter::ModelConfig config = rafter::shipped_config("smollm2-135m");
  const auto kernels = rafter::registry().kernels(rafter::OpKind::matmul, rafter::DeviceKind::cpu);
  fmt::print("{}: {} layers; {} CPU kernels for matmul; device {}\n", config.name, config.layers, kernels.size(),
             rafter::to_string(rafter::default_device()));
  return kernels.empty() ? 1 : 0;
}
