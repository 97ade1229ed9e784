#include "rafter/passes/memory.h"

#include <algorithm>

namespace rafter {

namespace {

constexpr int64_t kAlignment = 256;

// Something that needs `bytes` from op `first` to op `last`, both included.
struct Tenant {
  int64_t bytes = 0;
  int first = -1, last = -1;
  int64_t* offset = nullptr;
};

ValueId owner(const Plan& plan, ValueId id) {
  while (plan.value(id).view_of != kNone) id = plan.value(id).view_of;
  return id;
}

bool live_together(const Tenant& a, const Tenant& b) { return a.first <= b.last && b.first <= a.last; }

int64_t lowest_gap(const Tenant& tenant, const std::vector<Tenant>& placed) {
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (const Tenant& other : placed) {
    if (live_together(tenant, other)) taken.emplace_back(*other.offset, *other.offset + other.bytes);
  }
  std::sort(taken.begin(), taken.end());
  int64_t offset = 0;
  for (const auto& [begin, end] : taken) {
    if (begin - offset >= tenant.bytes) break;
    offset = std::max(offset, end);
  }
  return offset;
}

}  // namespace

MemoryPlan plan_memory(const Plan& plan, std::span<const int64_t> workspaces) {
  MemoryPlan result;
  result.offsets.assign(plan.values().size(), -1);
  result.workspace_offsets.assign(plan.ops().size(), -1);
  std::vector<Tenant> values(plan.values().size()), tenants;
  const auto rounded = [](int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; };

  for (int i = 0; i < static_cast<int>(plan.ops().size()); ++i) {
    const Op& op = plan.ops()[static_cast<size_t>(i)];
    for (const auto* operands : {&op.inputs, &op.outputs}) {
      for (const ValueId id : *operands) {
        if (id == kNone) continue;
        Tenant& tenant = values[static_cast<size_t>(owner(plan, id))];
        if (tenant.first < 0) tenant.first = i;
        tenant.last = i;
      }
    }
    if (workspaces[static_cast<size_t>(i)] > 0) {
      tenants.push_back({rounded(workspaces[static_cast<size_t>(i)]), i, i, &result.workspace_offsets[static_cast<size_t>(i)]});
    }
  }
  for (size_t id = 0; id < values.size(); ++id) {
    const Value& value = plan.values()[id];
    if (value.role != Role::temporary || value.view_of != kNone || values[id].first < 0) continue;
    values[id].bytes = rounded(value.shape.rows() * row_bytes(value.dtype, value.shape.last()));
    values[id].offset = &result.offsets[id];
    if (values[id].bytes > 0) tenants.push_back(values[id]);
  }

  std::stable_sort(tenants.begin(), tenants.end(), [](const Tenant& a, const Tenant& b) { return a.bytes > b.bytes; });
  std::vector<Tenant> placed;
  for (const Tenant& tenant : tenants) {
    *tenant.offset = lowest_gap(tenant, placed);
    result.arena_bytes = std::max(result.arena_bytes, *tenant.offset + tenant.bytes);
    result.unshared_bytes += tenant.bytes;
    placed.push_back(tenant);
  }
  return result;
}

}  // namespace rafter
