// The memory planner: every temporary of a plan gets a place in one arena, and places are shared by values whose lives
// do not overlap. Asked for once, before the first step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rafter/ops/plan.h"

namespace rafter {

struct MemoryPlan {
  std::vector<int64_t> offsets;            // by ValueId; -1 where the value is not a temporary, a view or unused
  std::vector<int64_t> workspace_offsets;  // by op; -1 where it needs none
  int64_t arena_bytes = 0;
  int64_t unshared_bytes = 0;  // what it would take with no sharing
};

// `workspaces` holds each op's scratch bytes, in op order. A value lives from the op that writes it to the last one that
// reads it (through views too); a workspace lives for its op. Largest first, at the lowest offset that is free.
MemoryPlan plan_memory(const Plan& plan, std::span<const int64_t> workspaces);

}  // namespace rafter
