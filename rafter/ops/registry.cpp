#include "rafter/ops/registry.h"

#include <algorithm>

#include "rafter/base/error.h"

namespace rafter {

void Registry::add(const Kernel& kernel) {
  auto& ladder = kernels_[static_cast<size_t>(kernel.op)][static_cast<size_t>(kernel.device)];
  const auto above = [](const Kernel& a, const Kernel& b) { return a.step < b.step; };
  ladder.insert(std::upper_bound(ladder.begin(), ladder.end(), kernel, above), kernel);
}

std::vector<const Kernel*> Registry::kernels(OpKind op, DeviceKind device) const {
  std::vector<const Kernel*> ladder;
  for (const Kernel& kernel : kernels_[static_cast<size_t>(op)][static_cast<size_t>(device)]) ladder.push_back(&kernel);
  return ladder;
}

const Kernel& Registry::pick(const OpView& op, DeviceKind device) const {
  const auto& ladder = kernels_[static_cast<size_t>(op.op->kind)][static_cast<size_t>(device)];
  for (auto kernel = ladder.rbegin(); kernel != ladder.rend(); ++kernel) {
    if (kernel->supports(op)) return *kernel;
  }
  throw runtime_failure({fmt::format("a kernel on {} for op '{}' ({})", device == DeviceKind::cpu ? "the CPU" : "CUDA",
                                     op.op->name, describe(op)),
                         "missing"});
}

std::string describe(const OpView& op) {
  const auto list = [](std::span<const Tensor> tensors) {
    std::string text;
    for (const Tensor& tensor : tensors) {
      if (tensor.present())
        text += fmt::format("{}{}{}", text.empty() ? "" : ", ", name(tensor.dtype), tensor.shape.to_string());
    }
    return text;
  };
  return fmt::format("{} {} -> {}", name(op.op->kind), list(op.inputs), list(op.outputs));
}

}  // namespace rafter
