#include "rafter/device/allocator.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>

#include "rafter/base/error.h"
#include "rafter/base/host_memory.h"
#include "rafter/base/units.h"
#include "rafter/device/device.h"

namespace rafter {

namespace {

constexpr int64_t kAlignment = 256;
constexpr int64_t kSmall = 1 << 20;  // requests up to this share segments
constexpr int64_t kSmallSegment = 2 << 20;

// A stretch of a segment, free or handed out; `previous` and `next` are its neighbours in the segment.
struct Block {
  char* pointer = nullptr;
  int64_t bytes = 0;
  bool free = true;
  bool small = false;
  Block* previous = nullptr;
  Block* next = nullptr;
};

// Best fit: the smallest block that is large enough, the lowest address among equals.
struct BySize {
  bool operator()(const Block* a, const Block* b) const {
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->pointer < b->pointer;
  }
};

// Why a request was refused, with what there is: on the CPU it may be a limit of the process, with memory to spare.
std::string why_refused(const Device& device, int64_t bytes) {
  const DeviceInfo info = device.info();
  const HostMemory host = device.id().kind == DeviceKind::cpu ? host_memory() : HostMemory{};
  const std::string of = host.limit.empty() ? format_capacity(info.memory_bytes) : "the " + host.limit;
  const std::string free = format_capacity(info.free_bytes) + " of " + of;
  if (bytes <= info.free_bytes) return "refused, for want of one stretch of that size in what is free (" + free + ")";
  return "more than is free (" + free + ")";
}

}  // namespace

struct CachingAllocator::State {
  Device& device;
  mutable std::mutex mutex;
  std::unordered_map<void*, Block*> live;
  std::set<Block*, BySize> free_small, free_large;
  AllocatorStats stats;

  explicit State(Device& owner) : device(owner) {}
  std::set<Block*, BySize>& pool(bool small) { return small ? free_small : free_large; }

  Block* find(int64_t bytes, bool small) {
    Block probe;
    probe.bytes = bytes;
    auto& blocks = pool(small);
    const auto found = blocks.lower_bound(&probe);
    if (found == blocks.end()) return nullptr;
    // A large block that is far too large is kept for what needs it: cutting it up is what fragments a pool.
    if (!small && (*found)->bytes > bytes + bytes / 4 + (1 << 20)) return nullptr;
    Block* block = *found;
    blocks.erase(found);
    return block;
  }

  Block* from_driver(int64_t bytes, bool small) {
    const int64_t segment = small ? kSmallSegment : bytes;
    void* pointer = device.allocate_raw(segment);
    if (pointer == nullptr) {
      release_unused();
      pointer = device.allocate_raw(segment);
    }
    if (pointer == nullptr) return nullptr;
    ++stats.driver_calls;
    stats.reserved += segment;
    stats.peak_reserved = std::max(stats.peak_reserved, stats.reserved);
    return new Block{static_cast<char*>(pointer), segment, true, small, nullptr, nullptr};
  }

  void split(Block* block, int64_t bytes) {
    if (!block->small || block->bytes - bytes < kAlignment) return;
    auto* rest = new Block{block->pointer + bytes, block->bytes - bytes, true, true, block, block->next};
    if (rest->next != nullptr) rest->next->previous = rest;
    block->next = rest;
    block->bytes = bytes;
    free_small.insert(rest);
  }

  // Joins `block` with a free neighbour after it; both must be out of the pool.
  static void absorb_next(Block* block) {
    Block* gone = block->next;
    block->bytes += gone->bytes;
    block->next = gone->next;
    if (block->next != nullptr) block->next->previous = block;
    delete gone;
  }

  void put_back(Block* block) {
    block->free = true;
    if (block->next != nullptr && block->next->free) {
      pool(block->small).erase(block->next);
      absorb_next(block);
    }
    if (block->previous != nullptr && block->previous->free) {
      Block* previous = block->previous;
      pool(block->small).erase(previous);
      absorb_next(previous);
      block = previous;
    }
    pool(block->small).insert(block);
  }

  void release_unused() {
    for (auto* blocks : {&free_small, &free_large}) {
      for (auto it = blocks->begin(); it != blocks->end();) {
        Block* block = *it;
        const bool whole = block->previous == nullptr && block->next == nullptr;
        it = whole ? blocks->erase(it) : std::next(it);
        if (!whole) continue;
        device.free_raw(block->pointer);
        stats.reserved -= block->bytes;
        delete block;
      }
    }
  }
};

double AllocatorStats::fragmentation() const {
  const int64_t free_bytes = reserved - allocated;
  return free_bytes <= 0 ? 0.0 : 1.0 - static_cast<double>(largest_free) / static_cast<double>(free_bytes);
}

CachingAllocator::CachingAllocator(Device& device) : state_(std::make_unique<State>(device)) {}

CachingAllocator::~CachingAllocator() { trim(); }

void* CachingAllocator::allocate(int64_t bytes) {
  if (bytes < 0) throw input_error({"a memory request", fmt::format("{} bytes", bytes), "0 or more"});
  if (bytes == 0) return nullptr;
  const std::lock_guard lock(state_->mutex);
  const bool small = bytes <= kSmall;
  const int64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  Block* block = state_->find(rounded, small);
  if (block == nullptr) block = state_->from_driver(rounded, small);
  if (block == nullptr) {
    throw runtime_failure({"a request for " + format_capacity(bytes) + " on " + to_string(state_->device.id()),
                           why_refused(state_->device, bytes),
                           {},
                           "use a smaller context, batch or model"});
  }
  state_->split(block, rounded);
  block->free = false;
  state_->live.emplace(block->pointer, block);
  AllocatorStats& stats = state_->stats;
  stats.allocated += block->bytes;
  stats.peak_allocated = std::max(stats.peak_allocated, stats.allocated);
  ++stats.live_blocks;
  return block->pointer;
}

void CachingAllocator::free(void* pointer) {
  if (pointer == nullptr) return;
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->live.find(pointer);
  if (found == state_->live.end()) {
    throw runtime_failure({"a pointer given back to the allocator", fmt::format("{}", fmt::ptr(pointer)), "one it handed out"});
  }
  Block* block = found->second;
  state_->live.erase(found);
  state_->stats.allocated -= block->bytes;
  --state_->stats.live_blocks;
  state_->put_back(block);
}

void CachingAllocator::trim() {
  const std::lock_guard lock(state_->mutex);
  state_->release_unused();
}

AllocatorStats CachingAllocator::stats() const {
  const std::lock_guard lock(state_->mutex);
  AllocatorStats stats = state_->stats;
  for (const auto* blocks : {&state_->free_small, &state_->free_large}) {
    if (!blocks->empty()) stats.largest_free = std::max(stats.largest_free, (*blocks->rbegin())->bytes);
  }
  return stats;
}

}  // namespace rafter
