// A file of some profiler, read: its kernels, what else it held, and what the reader has to say about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rafter/measure/profiles/kernel_record.h"

namespace rafter {

enum class ProfileKind : uint8_t { ncu_csv, nsys_sqlite, pytorch_trace, rafter_results, rafter_trace };

// "Nsight Compute CSV" ...
const char* name(ProfileKind kind);

struct Transfers {
  int64_t count = 0;
  double seconds = 0;  // of those that were timed
  double bytes = 0;    // of those whose size is known
};

struct Profile {
  std::string path;
  ProfileKind kind = ProfileKind::ncu_csv;
  std::string device;                       // the GPU's name, where the file has it
  std::optional<int64_t> rank, world_size;  // of a distributed run
  std::vector<KernelRecord> kernels;        // in the order of their start where it is known, of the file else
  Transfers copies, fills;                  // memcpy and memset of the GPU: no kernels, but part of the time
  std::vector<std::string> remarks;         // for the user, one sentence each: what was passed over or taken on trust
};

// Any of the kinds, told apart by content. Nsight Compute's own .ncu-rep goes through `ncu` where it is on PATH. An input
// Error that names the file, the place and what was expected where it is none of them, is damaged or holds no kernel.
Profile read_profile(const std::string& path);

}  // namespace rafter
