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
  KernelLimit limit;
  std::string roof;  // "DRAM", "tensor bf16"
  double percent;    // of the peak
  std::string evidence;
  bool measured = true;  // against a roof given to us, rather than the profiler's own idea of the peak
};

std::string percent_text(double percent) { return fmt::format("{:.0f}%", percent); }

// A unit by the amount it handled and its measured rate.
void add_by_amount(std::vector<Use>& uses, const KernelRecord& kernel, KernelLimit limit, const std::string& roof,
                   const Quantity& amount, const Quantity& rate, const char* unit, const char* verb) {
  if (!kernel.seconds || !amount || *amount <= 0 || !rate || *rate <= 0) return;
  const double percent = 100 * *amount / *rate / *kernel.seconds;
  const double each = static_cast<double>(kernel.launches);
  uses.push_back({limit, roof, percent,
                  fmt::format("{} {} in {}: {}, {} of the measured {} roof", verb,
                              unit[0] == 'B' ? format_bytes(*amount / each) : format_si(*amount / each, unit),
                              format_seconds(*kernel.seconds / each), format_rate(*amount / *kernel.seconds, unit),
                              percent_text(percent), roof)});
}

// A unit by the profiler's own percentage, where no measured roof says more.
void add_by_percent(std::vector<Use>& uses, KernelLimit limit, const std::string& roof, const Quantity& percent) {
  const bool known = std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return use.limit == limit; });
  if (!percent || known) return;
  uses.push_back({limit, roof, *percent, fmt::format("{} at {} of the profiler's peak", roof, percent_text(*percent)), false});
}

std::vector<Use> uses_of(const KernelRecord& kernel, const KernelRoofs& roofs) {
  std::vector<Use> uses;
  const Quantity dram = kernel.dram_bytes();
  add_by_amount(uses, kernel, KernelLimit::dram, "DRAM", dram ? dram : kernel.needed_bytes, roofs.dram_bytes_per_second, "B",
                dram ? "moves" : "must move");
  add_by_amount(uses, kernel, KernelLimit::l2, "L2", kernel.l2_bytes, roofs.l2_bytes_per_second, "B", "moves");
  for (const auto& [dtype, flops] : kernel.tensor_flops) {
    const auto roof = roofs.tensor_flops_per_second.find(dtype);
    if (roof == roofs.tensor_flops_per_second.end()) continue;
    add_by_amount(uses, kernel, KernelLimit::tensor, "tensor " + dtype, flops, roof->second, "FLOP", "computes");
  }
  // Needed FLOPs do not say which unit did them: the fastest that takes the dtype bounds them all.
  const auto tensor = roofs.tensor_flops_per_second.find(kernel.dtype == "f32" ? "tf32" : kernel.dtype);
  if (kernel.dtype == "f32") {
    add_by_amount(uses, kernel, KernelLimit::fp32, "FP32", kernel.needed_flops, roofs.fp32_flops_per_second, "FLOP", "needs");
  } else if (tensor != roofs.tensor_flops_per_second.end()) {
    add_by_amount(uses, kernel, KernelLimit::tensor, "tensor " + kernel.dtype, kernel.needed_flops, tensor->second, "FLOP",
                  "needs");
  }
  add_by_amount(uses, kernel, KernelLimit::fp32, "FP32", kernel.fp32_flops, roofs.fp32_flops_per_second, "FLOP", "computes");
  add_by_amount(uses, kernel, KernelLimit::fp64, "FP64", kernel.fp64_flops, roofs.fp64_flops_per_second, "FLOP", "computes");
  add_by_percent(uses, KernelLimit::dram, "DRAM", kernel.dram_percent);
  add_by_percent(uses, KernelLimit::l2, "L2", kernel.l2_percent);
  add_by_percent(uses, KernelLimit::tensor, "tensor pipe", kernel.tensor_percent);
  add_by_percent(uses, KernelLimit::fp32, "FP32 pipe", kernel.fp32_percent);
  add_by_percent(uses, KernelLimit::fp64, "FP64 pipe", kernel.fp64_percent);
  std::stable_sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.percent > b.percent; });
  return uses;
}

using Verdict = std::optional<std::pair<KernelLimit, std::string>>;

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
    if (out.limit == KernelLimit::unknown) say_unknown(out);
    add_gain(out);
    return out;
  }

 private:
  bool at_roof() const { return !uses_.empty() && uses_.front().percent >= limits_.near_roof; }

  Verdict launch() const {
    const Quantity seconds = kernel_.seconds_per_launch(), gap = kernel_.gap_per_launch();
    if (!seconds || at_roof()) return std::nullopt;
    if (gap && *gap > *seconds) {
      return {{KernelLimit::launch,
               fmt::format("runs {} after {} of idle stream", format_seconds(*seconds), format_seconds(*gap))}};
    }
    if (*seconds >= limits_.short_seconds) return std::nullopt;
    return {{KernelLimit::launch, fmt::format("runs {}, about what a launch costs", format_seconds(*seconds))}};
  }

  // Whether waste in memory may matter: some memory unit is busy, or none is known.
  bool memory_is_busy_or_unknown(const std::vector<Quantity>& units) const {
    const bool known = std::any_of(units.begin(), units.end(), [](const Quantity& unit) { return unit.has_value(); });
    return !known ||
           std::any_of(units.begin(), units.end(), [&](const Quantity& unit) { return unit && *unit >= limits_.busy; });
  }

  // Percent of the DRAM roof, by whatever is known of it.
  Quantity dram_use() const {
    for (const Use& use : uses_) {
      if (use.limit == KernelLimit::dram) return use.percent;
    }
    return std::nullopt;
  }

  Verdict spills() const {
    if (!memory_is_busy_or_unknown({dram_use(), kernel_.l2_percent, kernel_.l1_percent})) return std::nullopt;
    const auto share_of = [](const Quantity& part, const Quantity& whole) {
      return part && whole && *whole > 0 ? Quantity(*part / *whole) : std::nullopt;
    };
    const Quantity bytes = share_of(kernel_.local_bytes, kernel_.l1_bytes);
    const Quantity share = bytes ? bytes : share_of(kernel_.local_instructions, kernel_.instructions);
    if (!share || *share < limits_.spill_share) return std::nullopt;
    const std::string registers =
        kernel_.registers_per_thread ? fmt::format(" at {:.0f} registers a thread", *kernel_.registers_per_thread) : "";
    return {
        {KernelLimit::spills, fmt::format("{} of the {} are local memory (spills, indexed arrays){}",
                                          percent_text(100 * *share), bytes ? "bytes through L1" : "instructions", registers)}};
  }

  Verdict uncoalesced() const {
    if (!memory_is_busy_or_unknown({dram_use(), kernel_.l2_percent, kernel_.l1_percent})) return std::nullopt;
    const std::array<std::tuple<const char*, Quantity, Quantity>, 2> ways = {
        std::tuple{"loads", kernel_.sector_use_load, kernel_.sectors_per_load},
        std::tuple{"stores", kernel_.sector_use_store, kernel_.sectors_per_store}};
    for (const auto& [way, use, sectors] : ways) {
      if (use && *use > 0 && *use < limits_.sector_use) {
        return {
            {KernelLimit::uncoalesced, fmt::format("global {} use {} of the bytes of their sectors", way, percent_text(*use))}};
      }
      if (!use && sectors && *sectors > limits_.sectors_per_request) {
        return {{KernelLimit::uncoalesced,
                 fmt::format("global {} touch {:.1f} sectors a request, where 4-byte accesses side by side touch 4", way,
                             *sectors)}};
      }
    }
    return std::nullopt;
  }

  Verdict conflicts() const {
    if (!memory_is_busy_or_unknown({kernel_.l1_percent})) return std::nullopt;
    if (!kernel_.shared_conflicts || !kernel_.shared_wavefronts || *kernel_.shared_wavefronts <= 0) return std::nullopt;
    const double share = *kernel_.shared_conflicts / *kernel_.shared_wavefronts;
    if (share < limits_.conflict_share) return std::nullopt;
    return {{KernelLimit::bank_conflicts,
             fmt::format("{} of the wavefronts of shared memory are bank conflicts", percent_text(100 * share))}};
  }

  Verdict roof() const {
    if (!at_roof()) return std::nullopt;
    return {{uses_.front().limit, uses_.front().evidence}};
  }

  // Only where both sides are known to be idle: a kernel whose pipes nobody counted may be limited by them.
  Verdict latency() const {
    const auto known = [&](std::initializer_list<KernelLimit> limits) {
      return std::any_of(uses_.begin(), uses_.end(),
                         [&](const Use& use) { return std::find(limits.begin(), limits.end(), use.limit) != limits.end(); });
    };
    const bool memory = known({KernelLimit::dram, KernelLimit::l2});
    const bool compute = kernel_.sm_percent.has_value() || known({KernelLimit::tensor, KernelLimit::fp32, KernelLimit::fp64});
    if (!memory || !compute) return std::nullopt;
    if (kernel_.sm_percent && *kernel_.sm_percent >= limits_.near_roof) return std::nullopt;
    std::string text = fmt::format("no unit is near its peak ({} {})", uses_.front().roof, percent_text(uses_.front().percent));
    if (kernel_.waves_per_sm && *kernel_.waves_per_sm < 1) {
      text += fmt::format("; the grid fills {} of the GPU", percent_text(100 * *kernel_.waves_per_sm));
    } else if (kernel_.achieved_occupancy && *kernel_.achieved_occupancy < limits_.low_occupancy) {
      text += fmt::format("; {} of the warps an SM can hold are there", percent_text(*kernel_.achieved_occupancy));
      if (kernel_.theoretical_occupancy) text += fmt::format(", {} could be", percent_text(*kernel_.theoretical_occupancy));
    } else if (kernel_.achieved_occupancy) {
      text += fmt::format("; warps are there ({} occupancy) and wait", percent_text(*kernel_.achieved_occupancy));
    }
    return {{KernelLimit::latency, text}};
  }

  void say_unknown(Bottleneck& out) const {
    if (!kernel_.seconds) out.would_tell.push_back("gpu__time_duration.sum");
    if (!dram_use()) out.would_tell.push_back("dram__throughput.avg.pct_of_peak_sustained_elapsed");
    if (!kernel_.sm_percent) out.would_tell.push_back("sm__throughput.avg.pct_of_peak_sustained_elapsed");
    if (!kernel_.achieved_occupancy) out.would_tell.push_back("sm__warps_active.avg.pct_of_peak_sustained_active");
    if (kernel_.sm_percent && *kernel_.sm_percent >= limits_.near_roof) {
      out.evidence = fmt::format("the SMs are at {} of the profiler's peak, by a pipe that the file does not name",
                                 percent_text(*kernel_.sm_percent));
      out.would_tell = {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
                        "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed"};
    } else {
      out.evidence = kernel_.seconds ? "the file has its time, and not what it did in it" : "the file has no time of it";
    }
  }

  // The time at the highest roof. A measured roof counts before the profiler's peak.
  void add_gain(Bottleneck& out) const {
    const auto measured = std::find_if(uses_.begin(), uses_.end(), [](const Use& use) { return use.measured; });
    const auto use = measured != uses_.end() ? measured : uses_.begin();
    const Quantity seconds = kernel_.seconds_per_launch();
    if (use == uses_.end() && seconds && kernel_.floor_seconds) {
      out.roof = "the file's floor";
      out.roof_seconds = *kernel_.floor_seconds / static_cast<double>(kernel_.launches);
      out.fraction = *out.roof_seconds / *seconds;
    }
    if (use == uses_.end() || !seconds || use->percent <= 0) return;
    out.fraction = use->percent / 100;
    out.roof_seconds = *seconds * *out.fraction;
    out.roof = use->measured ? use->roof : use->roof + ", the profiler's peak";
  }

  const KernelRecord& kernel_;
  const LimitThresholds& limits_;
  std::vector<Use> uses_;  // the highest first
};

}  // namespace

const char* name(KernelLimit limit) {
  static constexpr std::array kNames = {"DRAM bandwidth", "L2 bandwidth",    "tensor pipe",  "FP32 pipe",
                                        "FP64 pipe",      "latency",         "launch-bound", "uncoalesced",
                                        "bank conflicts", "register spills", "unknown"};
  return kNames[static_cast<size_t>(limit)];
}

Bottleneck judge(const KernelRecord& kernel, const KernelRoofs& roofs, const LimitThresholds& thresholds) {
  return Judge(kernel, roofs, thresholds).judge();
}

}  // namespace rafter
