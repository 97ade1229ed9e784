#include "rafter/measure/profiles/kernel_record.h"

#include <tuple>

namespace rafter {

namespace {

using Field = Quantity KernelRecord::*;
using R = KernelRecord;

constexpr Field kTotals[] = {
    &R::seconds,          &R::gap_seconds,       &R::dram_bytes_read, &R::dram_bytes_written, &R::dram_bytes_both,
    &R::l2_bytes,         &R::l1_bytes,          &R::shared_bytes,    &R::needed_bytes,       &R::needed_flops,
    &R::fp32_flops,       &R::fp64_flops,        &R::fp16_flops,      &R::local_bytes,        &R::local_instructions,
    &R::shared_conflicts, &R::shared_wavefronts, &R::floor_seconds,   &R::instructions,       &R::wasted_sectors,
    &R::global_sectors,
};

constexpr Field kAverages[] = {
    &R::sm_clock_hz,          &R::dram_bytes_per_second,
    &R::achieved_occupancy,   &R::theoretical_occupancy,
    &R::active_warps,         &R::waves_per_sm,
    &R::registers_per_thread, &R::local_bytes_per_thread,
    &R::sectors_per_load,     &R::sectors_per_store,
    &R::sector_use_load,      &R::sector_use_store,
    &R::dram_percent,         &R::l2_percent,
    &R::l1_percent,           &R::sm_percent,
    &R::tensor_percent,       &R::fp32_percent,
    &R::fp64_percent,
};

Quantity divided(const Quantity& total, int64_t count) {
  return total && count > 0 ? Quantity(*total / static_cast<double>(count)) : std::nullopt;
}

// What makes two launches the same kernel.
using Key = std::tuple<std::string, std::optional<Dim3>, std::optional<Dim3>, std::string, std::string, std::string,
                       std::optional<int64_t>, bool>;

Key key_of(const KernelRecord& kernel) {
  return {kernel.name,  kernel.grid,   kernel.block,  kernel.op,
          kernel.dtype, kernel.shapes, kernel.device, kernel.seconds.has_value()};
}

double weight(const KernelRecord& kernel) { return kernel.seconds ? *kernel.seconds : static_cast<double>(kernel.launches); }

// A stream's first launch has no gap before it: that alone must not hide the gaps of all the others.
Quantity sum_of_gaps(const Quantity& a, const Quantity& b) { return a && b ? Quantity(*a + *b) : a ? a : b; }

void add_tensor_flops(KernelRecord& sum, const KernelRecord& kernel) {
  std::map<std::string, double> both;
  for (const auto& [dtype, flops] : kernel.tensor_flops) {
    if (const auto found = sum.tensor_flops.find(dtype); found != sum.tensor_flops.end()) both[dtype] = found->second + flops;
  }
  sum.tensor_flops = std::move(both);
}

void add(KernelRecord& sum, const KernelRecord& kernel) {
  const double old_weight = weight(sum), new_weight = weight(kernel);
  for (const Field field : kAverages) {
    Quantity& into = sum.*field;
    const Quantity& from = kernel.*field;
    into = into && from ? Quantity((*into * old_weight + *from * new_weight) / (old_weight + new_weight)) : std::nullopt;
  }
  const Quantity gap = sum_of_gaps(sum.gap_seconds, kernel.gap_seconds);
  for (const Field field : kTotals) {
    Quantity& into = sum.*field;
    into = into && kernel.*field ? Quantity(*into + *(kernel.*field)) : std::nullopt;
  }
  sum.gap_seconds = gap;
  add_tensor_flops(sum, kernel);
  if (sum.stream != kernel.stream) sum.stream.reset();
  sum.in_graph = sum.in_graph && kernel.in_graph;
  sum.launches += kernel.launches;
}

}  // namespace

Quantity KernelRecord::dram_bytes() const {
  if (dram_bytes_read && dram_bytes_written) return *dram_bytes_read + *dram_bytes_written;
  if (dram_bytes_both) return dram_bytes_both;
  if (dram_bytes_per_second && seconds) return *dram_bytes_per_second * *seconds;
  return std::nullopt;
}

Quantity KernelRecord::seconds_per_launch() const { return divided(seconds, launches); }
Quantity KernelRecord::gap_per_launch() const { return divided(gap_seconds, launches); }

std::vector<KernelRecord> fold(const std::vector<KernelRecord>& kernels) {
  std::vector<KernelRecord> folded;
  std::map<Key, size_t> place;
  for (const KernelRecord& kernel : kernels) {
    const auto [found, is_new] = place.try_emplace(key_of(kernel), folded.size());
    if (is_new) {
      folded.push_back(kernel);
    } else {
      add(folded[found->second], kernel);
    }
  }
  return folded;
}

void scale_totals(KernelRecord& kernel, double factor) {
  for (const Field field : kTotals) {
    if (kernel.*field) kernel.*field = *(kernel.*field) * factor;
  }
  for (auto& [dtype, flops] : kernel.tensor_flops) flops *= factor;
}

}  // namespace rafter
