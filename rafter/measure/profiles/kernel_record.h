// What a profiler knows of one kernel, in SI base units, whichever profiler it was.
//
// Each profiler knows a different part: a timeline has times and gaps, a counter profiler has bytes and pipes, a benchmark
// has what the maths needs. What the file does not hold is unknown here: nothing is inferred, no default stands for a value.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rafter {

using Dim3 = std::array<int64_t, 3>;
using Quantity = std::optional<double>;

struct KernelRecord {
  std::string name;        // in full, as the file has it; control characters are blanks
  std::string short_name;  // short_kernel_name(name)
  std::string dtype;       // as in results files: "bf16", "tf32", "fp8_e4m3" ...; empty where neither name nor file tells
  std::string op;          // the framework's op that launched it: "aten::mm", "ffn_down"; may be empty
  std::string shapes;      // of that op's inputs, as text: "[4096, 576] x [576, 960]"; may be empty
  std::optional<Dim3> grid, block;
  std::optional<int64_t> stream, device;
  int64_t launches = 1;
  bool in_graph = false;  // launched as a node of a CUDA graph

  // Totals over all launches. Zero seconds in a file mean that the launch was not timed: unknown.
  Quantity seconds;
  Quantity gap_seconds;                          // idle time of the stream before it; unknown before a stream's first
  Quantity dram_bytes_read, dram_bytes_written;  // measured
  Quantity dram_bytes_both;                      // measured, where the file has only the sum
  Quantity l2_bytes, l1_bytes, shared_bytes;     // measured
  Quantity needed_bytes, needed_flops;           // what the maths needs: Rafter's own files, or a framework's op
  Quantity fp32_flops, fp64_flops, fp16_flops;   // measured, outside the tensor cores
  std::map<std::string, double> tensor_flops;    // measured, by dtype of the sources
  Quantity local_instructions;                   // loads and stores of local memory: spills and indexed arrays
  Quantity instructions;                         // of warps, all of them
  Quantity local_bytes;                          // the same in bytes through L1
  Quantity shared_conflicts, shared_wavefronts;  // extra wavefronts of shared memory, of all its wavefronts
  Quantity wasted_sectors, global_sectors;       // sectors of global memory in which nothing was asked for, of all it moved
  Quantity floor_seconds;                        // the file's own floor, from Rafter's own files

  // Averages over launches, weighted by time.
  Quantity sm_clock_hz;
  Quantity dram_bytes_per_second;
  Quantity achieved_occupancy, theoretical_occupancy;  // percent of the warps an SM can hold
  Quantity active_warps;                               // per SM
  Quantity waves_per_sm;                               // blocks of the grid over blocks that fit the GPU at once
  Quantity registers_per_thread;
  Quantity local_bytes_per_thread;                            // reserved, used or not
  Quantity sectors_per_load, sectors_per_store;               // 32-byte sectors of a warp's request to global memory
  Quantity sector_use_load, sector_use_store;                 // percent of those sectors' bytes that were asked for
  Quantity dram_percent, l2_percent, l1_percent, sm_percent;  // throughput, percent of the profiler's peak
  Quantity tensor_percent, fp32_percent, fp64_percent;        // the pipes, percent of the profiler's peak

  // Bytes through DRAM: read and written, or their sum, or rate times time; unknown where only one way was measured.
  Quantity dram_bytes() const;
  Quantity seconds_per_launch() const;
  Quantity gap_per_launch() const;
};

// Launches of one name, grid, block, op, shapes and device as one, in the order of the first. Launches that were not timed
// are kept apart from those that were, so that totals and seconds speak of the same launches. A total that some launch
// lacks is unknown.
std::vector<KernelRecord> fold(const std::vector<KernelRecord>& kernels);

// Multiplies every total: from the average of some launches to their sum.
void scale_totals(KernelRecord& kernel, double factor);

}  // namespace rafter
