#include "rafter/measure/profiles/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "rafter/base/units.h"

namespace rafter {

namespace {

// One unit that the kernel used, and how near it came to that unit's peak.
struct Use {
  Bound limit;
  std::string roof;  // "DRAM", "tensor bf16"
  double percent;    // of the peak
  std::string evidence;
  bool needed = false;   // by what the maths needs, rather than by what was counted
  bool measured = true;  // against a roof given to us, rather than the profiler's own idea of the peak
};

std::string percent_text(double percent) { return fmt::format("{:.0f}%", percent); }

// A unit by the amount that was counted, or that the maths needs, and its measured rate.
void add_by_amount(std::vector<Use>& uses, const KernelRecord& kernel, Bound limit, const std::string& roof,
                   const Quantity& amount, const Quantity& rate, bool needed = false) {
  if (!kernel.seconds || !amount || *amount <= 0 || !rate || *rate <= 0) return;
  const bool bytes = limit == Bound::dram || limit == Bound::l2;
  const char* const unit = bytes ? "B" : "FLOP";
  const char* const verb = needed ? (bytes ? "must move" : "needs") : (bytes ? "moves" : "computes");
  const double percent = 100 * *amount / *rate / *kernel.seconds;
  const double each = static_cast<double>(kernel.launches);
  uses.push_back({limit, roof, percent,
                  fmt::format("{} {} in {}: {}, {} of the measured {} roof", verb,
                              bytes ? format_bytes(*amount / each) : format_si(*amount / each, unit),
                              format_seconds(*kernel.seconds / each), format_rate(*amount / *kernel.seconds, unit),
                              percent_text(percent), roof),
                  needed});
}

// A unit by the profiler's own percentage, where no measured roof says more.
void add_by_percent(std::vector<Use>& uses, Bound limit, const std::string& roof, const Quantity& percent) {
  const bool known = std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return use.limit == limit; });
  if (!percent || known) return;
  const std::string evidence = fmt::format("{} at {} of the profiler's peak", roof, percent_text(*percent));
  uses.push_back({limit, roof, *percent, evidence, false, false});
}

// Needed FLOPs do not say which unit did them: the fastest that takes the dtype bounds them all.
void add_needed_flops(std::vector<Use>& uses, const KernelRecord& kernel, const KernelRoofs& roofs) {
  const auto tensor = roofs.tensor_flops_per_second.find(kernel.dtype);
  if (kernel.dtype == "f32") {
    add_by_amount(uses, kernel, Bound::fp32, "FP32", kernel.needed_flops, roofs.fp32_flops_per_second, true);
  } else if (kernel.dtype == "f64") {
    add_by_amount(uses, kernel, Bound::fp64, "FP64", kernel.needed_flops, roofs.fp64_flops_per_second, true);
  } else if (tensor != roofs.tensor_flops_per_second.end()) {
    add_by_amount(uses, kernel, Bound::tensor, "tensor " + kernel.dtype, kernel.needed_flops, tensor->second, true);
  }
}

std::vector<Use> uses_of(const KernelRecord& kernel, const KernelRoofs& roofs) {
  std::vector<Use> uses;
  const Quantity dram = kernel.dram_bytes();
  add_by_amount(uses, kernel, Bound::dram, "DRAM", dram ? dram : kernel.needed_bytes, roofs.dram_bytes_per_second, !dram);
  add_by_amount(uses, kernel, Bound::l2, "L2", kernel.l2_bytes, roofs.l2_bytes_per_second);
  for (const auto& [dtype, flops] : kernel.tensor_flops) {
    const auto roof = roofs.tensor_flops_per_second.find(dtype);
    if (roof == roofs.tensor_flops_per_second.end()) continue;
    add_by_amount(uses, kernel, Bound::tensor, "tensor " + dtype, flops, roof->second);
  }
  add_needed_flops(uses, kernel, roofs);
  add_by_amount(uses, kernel, Bound::fp32, "FP32", kernel.fp32_flops, roofs.fp32_flops_per_second);
  add_by_amount(uses, kernel, Bound::fp64, "FP64", kernel.fp64_flops, roofs.fp64_flops_per_second);
  add_by_percent(uses, Bound::dram, "DRAM", kernel.dram_percent);
  add_by_percent(uses, Bound::l2, "L2", kernel.l2_percent);
  add_by_percent(uses, Bound::tensor, "tensor pipe", kernel.tensor_percent);
  add_by_percent(uses, Bound::fp32, "FP32 pipe", kernel.fp32_percent);
  add_by_percent(uses, Bound::fp64, "FP64 pipe", kernel.fp64_percent);
  std::stable_sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.percent > b.percent; });
  return uses;
}

using Verdict = std::optional<std::pair<Bound, std::string>>;

class Judge {
 public:
  Judge(const KernelRecord& kernel, const KernelRoofs& roofs, const LimitThresholds& thresholds)
      : kernel_(kernel), limits_(thresholds), uses_(uses_of(kernel, roofs)) {}

  Bottleneck judge() const {
    Bottleneck out;
    for (const Verdict& verdict : {launch(), spills(), uncoalesced(), conflicts(), roof(), latency()}) {
      if (!verdict) continue;
      out.limit = verdict->first;
      out.evidence = verdict->second;
      break;
    }
    if (out.limit == Bound::unknown) say_unknown(out);
    add_gain(out);
    return out;
  }

 private:
  bool at_roof() const { return !uses_.empty() && uses_.front().percent >= limits_.near_roof; }

  Verdict launch() const {
    const Quantity seconds = kernel_.seconds_per_launch(), gap = kernel_.gap_per_launch();
    if (!seconds || at_roof()) return std::nullopt;
    if (gap && *gap > *seconds) {
      return {{Bound::launch, fmt::format("runs {} after {} of idle stream", format_seconds(*seconds), format_seconds(*gap))}};
    }
    if (*seconds >= limits_.short_seconds) return std::nullopt;
    return {{Bound::launch, fmt::format("runs {}, about what a launch costs", format_seconds(*seconds))}};
  }

  // Its SMs are near their peak by a pipe that the file does not name.
  bool at_unnamed_pipe() const { return !at_roof() && kernel_.sm_percent && *kernel_.sm_percent >= limits_.near_roof; }

  // Percent of the unit's roof, by whatever is known of it.
  Quantity use_of(Bound limit) const {
    for (const Use& use : uses_) {
      if (use.limit == limit) return use.percent;
    }
    return std::nullopt;
  }

  // Some memory is busy, or none is known to be idle, and no pipe at its roof is busier.
  bool memory_waste_may_matter() const {
    Quantity most;
    for (const Quantity& unit : {use_of(Bound::dram), use_of(Bound::l2), kernel_.l1_percent}) {
      if (unit) most = std::max(most.value_or(0), *unit);
    }
    const bool pipe = at_roof() && uses_.front().limit != Bound::dram && uses_.front().limit != Bound::l2;
    if (!most) return !pipe;
    return *most >= limits_.busy && !(pipe && uses_.front().percent > *most);
  }

  Verdict spills() const {
    if (!memory_waste_may_matter()) return std::nullopt;
    const auto share_of = [](const Quantity& part, const Quantity& whole) {
      return part && whole && *whole > 0 ? Quantity(*part / *whole) : std::nullopt;
    };
    const Quantity bytes = share_of(kernel_.local_bytes, kernel_.l1_bytes);
    const Quantity share = bytes ? bytes : share_of(kernel_.local_instructions, kernel_.instructions);
    if (!share || *share < limits_.spill_share) return std::nullopt;
    const std::string registers =
        kernel_.registers_per_thread ? fmt::format(" at {:.0f} registers a thread", *kernel_.registers_per_thread) : "";
    return {{Bound::spills, fmt::format("{} of the {} are local memory (spills, indexed arrays){}", percent_text(100 * *share),
                                        bytes ? "bytes through L1" : "instructions", registers)}};
  }

  Verdict uncoalesced() const {
    if (!memory_waste_may_matter()) return std::nullopt;
    return kernel_.global_sectors && kernel_.wasted_sectors ? wasteful_together() : wasteful_one_way();
  }

  Verdict wasteful_together() const {
    if (*kernel_.wasted_sectors <= 0) return std::nullopt;
    if (*kernel_.wasted_sectors < limits_.wasted_sectors * *kernel_.global_sectors) return std::nullopt;
    std::string text = fmt::format("{} of the global sectors it moves hold nothing that it asked for",
                                   percent_text(100 * *kernel_.wasted_sectors / *kernel_.global_sectors));
    const Quantity &loads = kernel_.sector_use_load, &stores = kernel_.sector_use_store;
    if (loads && *loads > 0 && *loads < limits_.sector_use) {
      text += fmt::format("; loads use {} of the bytes of theirs", percent_text(*loads));
    }
    if (stores && *stores > 0 && *stores < limits_.sector_use) {
      text += fmt::format("; stores use {} of the bytes of theirs", percent_text(*stores));
    }
    return {{Bound::uncoalesced, text}};
  }

  // Of how much the other way moved nothing is known: bytes that keep a memory at its measured roof are hardly these.
  Verdict wasteful_one_way() const {
    const bool at_memory = std::any_of(uses_.begin(), uses_.end(), [&](const Use& use) {
      return use.measured && (use.limit == Bound::dram || use.limit == Bound::l2) && use.percent >= limits_.little_room;
    });
    if (at_memory) return std::nullopt;
    const std::array<std::tuple<const char*, Quantity, Quantity>, 2> ways = {
        std::tuple{"loads", kernel_.sector_use_load, kernel_.sectors_per_load},
        std::tuple{"stores", kernel_.sector_use_store, kernel_.sectors_per_store}};
    for (const auto& [way, use, sectors] : ways) {
      if (use && *use > 0 && *use < limits_.sector_use) {
        return {{Bound::uncoalesced, fmt::format("global {} use {} of the bytes of their sectors", way, percent_text(*use))}};
      }
      if (!use && sectors && *sectors > limits_.sectors_per_request) {
        return {{Bound::uncoalesced,
                 fmt::format("global {} touch {:.1f} sectors a request, where 4-byte accesses side by side touch 4", way,
                             *sectors)}};
      }
    }
    return std::nullopt;
  }

  Verdict conflicts() const {
    const double busiest = std::max(uses_.empty() ? 0 : uses_.front().percent, kernel_.sm_percent.value_or(0));
    const Quantity& l1 = kernel_.l1_percent;
    if (l1 ? *l1 < limits_.busy || *l1 < busiest : at_roof()) return std::nullopt;
    if (!kernel_.shared_conflicts || !kernel_.shared_wavefronts || *kernel_.shared_wavefronts <= 0) return std::nullopt;
    const double share = *kernel_.shared_conflicts / *kernel_.shared_wavefronts;
    if (share < limits_.conflict_share) return std::nullopt;
    return {{Bound::bank_conflicts,
             fmt::format("{} of the wavefronts of shared memory are bank conflicts", percent_text(100 * share))}};
  }

  Verdict roof() const {
    if (!at_roof()) return std::nullopt;
    return {{uses_.front().limit, uses_.front().evidence}};
  }

  // Only where both sides are known to be idle: a kernel whose pipes nobody counted may be limited by them.
  Verdict latency() const {
    const auto known = [&](std::initializer_list<Bound> limits) {
      return std::any_of(uses_.begin(), uses_.end(),
                         [&](const Use& use) { return std::find(limits.begin(), limits.end(), use.limit) != limits.end(); });
    };
    const bool memory = known({Bound::dram, Bound::l2});
    const bool compute = kernel_.sm_percent || kernel_.needed_flops || known({Bound::tensor, Bound::fp32, Bound::fp64});
    if (!memory || !compute || at_unnamed_pipe()) return std::nullopt;
    if (uses_.front().needed) return {{Bound::latency, uses_.front().evidence + "; it waits, or does more than it needs to"}};
    std::string text = fmt::format("no unit is near its peak ({} {})", uses_.front().roof, percent_text(uses_.front().percent));
    if (kernel_.waves_per_sm && *kernel_.waves_per_sm < 1) {
      text += fmt::format("; the grid fills {} of the GPU", percent_text(100 * *kernel_.waves_per_sm));
    } else if (kernel_.achieved_occupancy && *kernel_.achieved_occupancy < limits_.low_occupancy) {
      text += fmt::format("; {} of the warps an SM can hold are there", percent_text(*kernel_.achieved_occupancy));
      if (kernel_.theoretical_occupancy) text += fmt::format(", {} could be", percent_text(*kernel_.theoretical_occupancy));
    } else if (kernel_.achieved_occupancy) {
      text += fmt::format("; warps are there ({} occupancy) and wait", percent_text(*kernel_.achieved_occupancy));
    }
    return {{Bound::latency, text}};
  }

  void say_unknown(Bottleneck& out) const {
    if (!kernel_.seconds) out.would_tell.push_back("gpu__time_duration.sum");
    if (!use_of(Bound::dram)) out.would_tell.push_back("dram__throughput.avg.pct_of_peak_sustained_elapsed");
    if (!kernel_.sm_percent) out.would_tell.push_back("sm__throughput.avg.pct_of_peak_sustained_elapsed");
    if (!kernel_.achieved_occupancy) out.would_tell.push_back("sm__warps_active.avg.pct_of_peak_sustained_active");
    if (at_unnamed_pipe()) {
      out.evidence = fmt::format("the SMs are at {} of the profiler's peak, by a pipe that the file does not name",
                                 percent_text(*kernel_.sm_percent));
      out.would_tell = {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
                        "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed"};
    } else {
      out.evidence = kernel_.seconds ? "the file has its time, and not what it did in it" : "the file has no time of it";
    }
  }

  // The time at the roof that it is at, else at the nearest of the measured ones, which count before the profiler's peak.
  void add_gain(Bottleneck& out) const {
    const auto measured = std::find_if(uses_.begin(), uses_.end(), [](const Use& use) { return use.measured; });
    const auto use = at_roof() || measured == uses_.end() ? uses_.begin() : measured;
    const Quantity seconds = kernel_.seconds_per_launch();
    if (use == uses_.end() && seconds && kernel_.floor_seconds) {
      out.roof = "the file's floor";
      out.roof_seconds = *kernel_.floor_seconds / static_cast<double>(kernel_.launches);
      out.fraction = *out.roof_seconds / *seconds;
    }
    if (use == uses_.end() || !seconds || use->percent <= 0 || at_unnamed_pipe()) return;
    out.fraction = use->percent / 100;
    out.roof_seconds = *seconds * *out.fraction;
    out.roof = use->measured ? use->roof : use->roof + ", the profiler's peak";
  }

  const KernelRecord& kernel_;
  const LimitThresholds& limits_;
  std::vector<Use> uses_;  // the highest first
};

}  // namespace

const char* name(Bound limit) {
  static constexpr std::array kNames = {"DRAM bandwidth", "L2 bandwidth",    "tensor pipe",  "FP32 pipe",
                                        "FP64 pipe",      "latency",         "launch-bound", "uncoalesced",
                                        "bank conflicts", "register spills", "unknown"};
  return kNames[static_cast<size_t>(limit)];
}

Bottleneck judge(const KernelRecord& kernel, const KernelRoofs& roofs, const LimitThresholds& thresholds) {
  return Judge(kernel, roofs, thresholds).judge();
}

}  // namespace rafter
