#include "rafter/measure/profiles/ncu_metrics.h"

#include <algorithm>

namespace rafter {

namespace {

using R = KernelRecord;
constexpr double kSectorBytes = 32;  // of every GPU since Maxwell

struct Source {
  Quantity KernelRecord::*field;
  Dimension dimension;
  std::string_view metric;
  double factor = 1;
};

constexpr auto kSeconds = Dimension::seconds;
constexpr auto kBytes = Dimension::bytes;
constexpr auto kRate = Dimension::bytes_per_second;
constexpr auto kHertz = Dimension::hertz;
constexpr auto kPercent = Dimension::percent;
constexpr auto kCount = Dimension::count;

constexpr Source kSources[] = {
    {&R::seconds, kSeconds, "gpu__time_duration.sum"},
    {&R::seconds, kSeconds, "gpu__time_duration.avg"},
    {&R::seconds, kSeconds, "gpu__time_duration.max"},
    {&R::seconds, kSeconds, "Duration"},
    {&R::sm_clock_hz, kHertz, "smsp__cycles_elapsed.avg.per_second"},
    {&R::sm_clock_hz, kHertz, "sm__cycles_elapsed.avg.per_second"},
    {&R::sm_clock_hz, kHertz, "gpc__cycles_elapsed.avg.per_second"},
    {&R::sm_clock_hz, kHertz, "SM Frequency"},
    {&R::dram_bytes_read, kBytes, "dram__bytes_read.sum"},
    {&R::dram_bytes_read, kBytes, "dram__bytes_op_read.sum"},
    {&R::dram_bytes_read, kCount, "dram__sectors_read.sum", kSectorBytes},
    {&R::dram_bytes_written, kBytes, "dram__bytes_write.sum"},
    {&R::dram_bytes_written, kBytes, "dram__bytes_op_write.sum"},
    {&R::dram_bytes_written, kCount, "dram__sectors_write.sum", kSectorBytes},
    {&R::dram_bytes_both, kBytes, "dram__bytes.sum"},
    {&R::dram_bytes_per_second, kRate, "dram__bytes.sum.per_second"},
    {&R::dram_bytes_per_second, kRate, "Memory Throughput"},
    {&R::l2_bytes, kBytes, "lts__t_bytes.sum"},
    {&R::l2_bytes, kCount, "lts__t_sectors.sum", kSectorBytes},
    {&R::l1_bytes, kBytes, "l1tex__t_bytes.sum"},
    {&R::l1_bytes, kCount, "l1tex__t_sectors.sum", kSectorBytes},
    {&R::shared_bytes, kBytes, "sm__sass_data_bytes_mem_shared.sum"},
    {&R::shared_bytes, kBytes, "smsp__sass_data_bytes_mem_shared.sum"},
    {&R::achieved_occupancy, kPercent, "sm__warps_active.avg.pct_of_peak_sustained_active"},
    {&R::achieved_occupancy, kPercent, "Achieved Occupancy"},
    {&R::theoretical_occupancy, kPercent, "sm__maximum_warps_per_active_cycle_pct"},
    {&R::theoretical_occupancy, kPercent, "Theoretical Occupancy"},
    {&R::active_warps, kCount, "sm__warps_active.avg.per_cycle_active"},
    {&R::active_warps, kCount, "Achieved Active Warps Per SM"},
    {&R::waves_per_sm, kCount, "launch__waves_per_multiprocessor"},
    {&R::waves_per_sm, kCount, "Waves Per SM"},
    {&R::registers_per_thread, kCount, "launch__registers_per_thread"},
    {&R::registers_per_thread, kCount, "Registers Per Thread"},
    {&R::instructions, kCount, "smsp__inst_executed.sum"},
    {&R::instructions, kCount, "sm__inst_executed.sum"},
    {&R::instructions, kCount, "Executed Instructions"},
    {&R::shared_wavefronts, kCount, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"},
    {&R::shared_wavefronts, kCount, "memory_l1_wavefronts_shared"},
    {&R::shared_conflicts, kCount, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"},
    {&R::sectors_per_load, kCount, "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"},
    {&R::sectors_per_store, kCount, "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"},
    {&R::sector_use_load, kPercent, "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"},
    {&R::sector_use_store, kPercent, "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct"},
    {&R::dram_percent, kPercent, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
    {&R::dram_percent, kPercent, "dram__throughput.avg.pct_of_peak_sustained_elapsed"},
    {&R::dram_percent, kPercent, "dram__bytes.sum.pct_of_peak_sustained_elapsed"},
    {&R::dram_percent, kPercent, "DRAM Throughput"},
    {&R::dram_percent, kPercent, "SOL DRAM"},
    {&R::l2_percent, kPercent, "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
    {&R::l2_percent, kPercent, "L2 Cache Throughput"},
    {&R::l2_percent, kPercent, "SOL L2"},
    {&R::l1_percent, kPercent, "l1tex__throughput.avg.pct_of_peak_sustained_active"},
    {&R::l1_percent, kPercent, "l1tex__throughput.avg.pct_of_peak_sustained_elapsed"},
    {&R::l1_percent, kPercent, "L1/TEX Cache Throughput"},
    {&R::l1_percent, kPercent, "SOL L1/TEX Cache"},
    {&R::sm_percent, kPercent, "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {&R::sm_percent, kPercent, "Compute (SM) Throughput"},
    {&R::sm_percent, kPercent, "SOL SM"},
    {&R::tensor_percent, kPercent, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"},
    {&R::tensor_percent, kPercent, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"},
    {&R::tensor_percent, kPercent, "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active"},
    {&R::fp32_percent, kPercent, "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed"},
    {&R::fp32_percent, kPercent, "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"},
    {&R::fp32_percent, kPercent, "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active"},
    {&R::fp64_percent, kPercent, "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed"},
    {&R::fp64_percent, kPercent, "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active"},
    {&R::fp64_percent, kPercent, "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active"},
};

// Metrics that fields are worked out from below, apart from kSources and those told by their beginning.
constexpr std::string_view kParts[] = {
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "memory_l1_wavefronts_shared_ideal",
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "SOL Memory",
    "smsp__inst_executed_op_local_ld.sum",
    "smsp__inst_executed_op_local_st.sum",
    "smsp__sass_inst_executed_op_local_ld.sum",
    "smsp__sass_inst_executed_op_local_st.sum",
    "l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum",
    "derived__local_spilling_requests",
    "Local Memory Spilling Requests",
};

constexpr std::string_view kTensor = "sm__ops_path_tensor_src_";
constexpr std::string_view kFlopStarts[] = {"smsp__sass_thread_inst_executed_op_", "sm__sass_thread_inst_executed_op_",
                                            "derived__smsp__sass_thread_inst_executed_op_"};

class Lookup {
 public:
  explicit Lookup(const NcuMetrics& metrics) : metrics_(metrics) {}

  Quantity operator()(std::string_view name, Dimension dimension = Dimension::count) const {
    const auto found = metrics_.find(metric_key(name, dimension));
    if (found == metrics_.end() || !fits(found->second.dimension, dimension)) return std::nullopt;
    return found->second.value;
  }
  Quantity sum(std::string_view a, std::string_view b, Dimension dimension = Dimension::count) const {
    const Quantity one = (*this)(a, dimension), other = (*this)(b, dimension);
    return one && other ? Quantity(*one + *other) : std::nullopt;
  }
  // Nothing for nothing over nothing: a kernel without loads has no sectors per load.
  Quantity ratio(std::string_view above, std::string_view below) const {
    const Quantity one = (*this)(above), other = (*this)(below);
    return one && other && *other > 0 ? Quantity(*one / *other) : std::nullopt;
  }

 private:
  // A percentage may come without its sign, a count with any word; a time or a size must say its unit.
  static bool fits(Dimension have, Dimension want) {
    if (want == Dimension::percent) return have == Dimension::percent || have == Dimension::count;
    if (want == Dimension::count) return have == Dimension::count || have == Dimension::other;
    return have == want;
  }
  const NcuMetrics& metrics_;
};

Quantity first_of(const Quantity& a, const Quantity& b) { return a ? a : b; }

void work_out_memory(const Lookup& get, KernelRecord& kernel) {
  const auto field = [](Quantity& into, const Quantity& value) {
    if (!into) into = value;
  };
  field(kernel.shared_wavefronts, get.sum("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                                          "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"));
  field(kernel.shared_conflicts, get.sum("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
                                         "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"));
  const Quantity all = get("memory_l1_wavefronts_shared"), ideal = get("memory_l1_wavefronts_shared_ideal");
  if (all && ideal && *all >= *ideal) field(kernel.shared_conflicts, *all - *ideal);

  field(kernel.sectors_per_load,
        get.ratio("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"));
  field(kernel.sectors_per_store,
        get.ratio("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"));
  const auto use = [&](std::string_view bytes_per_sector) -> Quantity {
    const Quantity bytes = first_of(get(bytes_per_sector, Dimension::bytes), get(bytes_per_sector));
    return bytes ? Quantity(100 * *bytes / kSectorBytes) : std::nullopt;
  };
  field(kernel.sector_use_load, use("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio"));
  field(kernel.sector_use_store, use("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio"));

  field(kernel.local_instructions, get.sum("smsp__inst_executed_op_local_ld.sum", "smsp__inst_executed_op_local_st.sum"));
  field(kernel.local_instructions,
        get.sum("smsp__sass_inst_executed_op_local_ld.sum", "smsp__sass_inst_executed_op_local_st.sum"));
  field(kernel.local_instructions, get("derived__local_spilling_requests"));
  field(kernel.local_instructions, get("Local Memory Spilling Requests"));
  field(kernel.local_bytes, get.sum("l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum",
                                    "l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum", Dimension::bytes));
}

// Sectors of both ways together. The profiler's own count has every kind of access, asynchronous copies too; else of each way
// its sectors and the part of their bytes that was asked for.
void work_out_sectors(const Lookup& get, KernelRecord& kernel) {
  const Quantity all = get("memory_l2_theoretical_sectors_global"), ideal = get("memory_l2_theoretical_sectors_global_ideal");
  if (all && ideal && *all >= *ideal) {
    kernel.global_sectors = *all;
    kernel.wasted_sectors = *all - *ideal;
    return;
  }
  const Quantity loads = get("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum");
  const Quantity stores = get("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum");
  const auto wasted = [](const Quantity& sectors, const Quantity& use) -> Quantity {
    if (sectors && *sectors == 0) return 0;
    return sectors && use && *use > 0 ? Quantity(*sectors * std::max(0.0, 1 - *use / 100)) : std::nullopt;
  };
  const Quantity by_loads = wasted(loads, kernel.sector_use_load), by_stores = wasted(stores, kernel.sector_use_store);
  if (!by_loads || !by_stores) return;
  kernel.global_sectors = *loads + *stores;
  kernel.wasted_sectors = *by_loads + *by_stores;
}

// L2's own percentage is that of its busiest part, and one of them counts what moves inside L2 alone: it is not in the
// profiler's verdict on memory, which bounds what a kernel's accesses use of L2.
void leave_out_inner_traffic(const Lookup& get, KernelRecord& kernel) {
  Quantity memory = get("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", Dimension::percent);
  for (const std::string_view name : {"Memory Throughput", "SOL Memory"})
    memory = first_of(memory, get(name, Dimension::percent));
  if (memory && kernel.l2_percent) kernel.l2_percent = std::min(*kernel.l2_percent, *memory);
}

// Additions, multiplications and fused multiply-adds of one precision ('f', 'd'), as sums over the kernel or, as the
// roofline sections have them, per cycle. "derived__sm__..._x2" looks alike and is the peak, not what was done.
Quantity flops_by_sum(const Lookup& get, char precision) {
  for (const std::string_view unit : {"smsp", "sm"}) {
    const auto of = [&](std::string_view op) {
      return get(std::string(unit) + "__sass_thread_inst_executed_op_" + precision + std::string(op) + "_pred_on.sum");
    };
    const Quantity adds = of("add"), products = of("mul"), fused = of("fma");
    if (adds && products && fused) return *adds + *products + 2 * *fused;
  }
  return std::nullopt;
}

Quantity flops_by_cycle(const Lookup& get, char precision, const KernelRecord& kernel) {
  const std::string start = std::string("smsp__sass_thread_inst_executed_op_") + precision;
  const Quantity clock = get("smsp__cycles_elapsed.avg.per_second", Dimension::hertz);
  const auto add_or_mul = [&](const std::string& op) {
    return first_of(get("derived__" + start + op + "_pred_on_x2"), get(start + op + "_pred_on.sum.per_cycle_elapsed"));
  };
  // Two FLOPs a lane; a half-precision instruction that is counted by four has two lanes.
  const Quantity fused = first_of(get("derived__" + start + "fma_pred_on_x4"), get("derived__" + start + "fma_pred_on_x2"));
  const Quantity adds = add_or_mul("add"), products = add_or_mul("mul");
  if (!adds || !products || !fused || !clock || !kernel.seconds) return std::nullopt;
  return (*adds + *products + *fused) * *clock * *kernel.seconds;
}

// sm__ops_path_tensor_src_bf16_dst_fp32.sum: operations by the dtype of the sources. A source may come as one number, by
// its destinations, or by sparsity; the shortest names of a source are the whole, the longer ones its parts. Sparsity parts
// the same operations in another way than destinations do: it is asked last.
void work_out_tensor(const NcuMetrics& metrics, KernelRecord& kernel) {
  std::map<std::string, std::map<size_t, double>> by_source;  // dtype, then length of the name in words, then the sum
  for (const auto& [key, metric] : metrics) {
    std::string_view name = key;
    if (!name.starts_with(kTensor) || !name.ends_with(".sum")) continue;
    name.remove_prefix(kTensor.size());
    name.remove_suffix(4);
    const std::string source(name.substr(0, name.find('_')));
    const size_t words = static_cast<size_t>(std::count(name.begin(), name.end(), '_'));
    const size_t last = name.find("sparsity") == std::string_view::npos ? 0 : 100;
    by_source[source][words + last] += metric.value;
  }
  for (const auto& [source, sums] : by_source) {
    const std::string dtype = source.starts_with("fp") && source != "fp8" ? "f" + source.substr(2) : source;
    if (sums.begin()->second > 0) kernel.tensor_flops[dtype] = sums.begin()->second;
  }
}

}  // namespace

bool is_wanted_metric(std::string_view name) {
  for (const Source& source : kSources) {
    if (source.metric == name) return true;
  }
  for (const std::string_view part : kParts) {
    if (part == name) return true;
  }
  for (const std::string_view start : kFlopStarts) {
    if (name.starts_with(start)) return true;
  }
  return name.starts_with(kTensor);
}

std::string metric_key(std::string_view name, Dimension dimension) {
  const bool rate = name == "Memory Throughput" && dimension == Dimension::bytes_per_second;
  return std::string(name) + (rate ? " (rate)" : "");
}

void apply_metrics(const NcuMetrics& metrics, KernelRecord& kernel) {
  const Lookup get(metrics);
  for (const Source& source : kSources) {
    if (kernel.*source.field) continue;
    const Quantity value = get(source.metric, source.dimension);
    if (value) kernel.*source.field = *value * source.factor;
  }
  if (kernel.seconds && *kernel.seconds <= 0) kernel.seconds.reset();
  work_out_memory(get, kernel);
  work_out_sectors(get, kernel);
  leave_out_inner_traffic(get, kernel);
  kernel.fp32_flops = first_of(flops_by_sum(get, 'f'), flops_by_cycle(get, 'f', kernel));
  kernel.fp64_flops = first_of(flops_by_sum(get, 'd'), flops_by_cycle(get, 'd', kernel));
  // By sum, half precision does not say how many of its instructions had two lanes.
  kernel.fp16_flops = flops_by_cycle(get, 'h', kernel);
  work_out_tensor(metrics, kernel);
}

}  // namespace rafter
