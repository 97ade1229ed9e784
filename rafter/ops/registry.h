// Every kernel, by op and device. Tests, benches and dispatch iterate over it, so a kernel that is registered is
// tested, timed and selectable with no further code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rafter/ops/op.h"

namespace rafter {

class Stream;

struct Kernel {
  OpKind op = OpKind::embed;
  DeviceKind device = DeviceKind::cpu;
  std::string_view name;  // its ladder step: "02_split_k"
  int step = 0;           // dispatch picks the highest step that supports the op
  // By shapes, dtypes, strides and attributes alone; data pointers may be null.
  bool (*supports)(const OpView& op) = nullptr;
  // Enqueues the op. Never allocates, synchronises or reads device memory from the host.
  void (*launch)(const OpView& op, Stream& stream) = nullptr;
  // Bytes of scratch it needs; null where none.
  int64_t (*workspace)(const OpView& op) = nullptr;
};

class Registry {
 public:
  void add(const Kernel& kernel);
  // Ladder order.
  std::vector<const Kernel*> kernels(OpKind op, DeviceKind device) const;
  // The highest step that supports it; a runtime Error that describes the op where none does.
  const Kernel& pick(const OpView& op, DeviceKind device) const;

 private:
  std::vector<Kernel> kernels_[kOpKindCount][2];
};

// "matmul x f32[1, 576], w q4_1[1536, 576] -> f32[1, 1536]": for messages and tables.
std::string describe(const OpView& op);

}  // namespace rafter
