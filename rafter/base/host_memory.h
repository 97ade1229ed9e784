// How much memory this process can still have: what the machine has left, within the limits set on a container and on the
// process. Linux grants far more than that and kills whoever touches it, so what would not fit must be refused beforehand.
#pragma once

#include <cstdint>
#include <string>

namespace rafter {

struct HostMemory {
  int64_t total = 0;      // of the machine
  int64_t available = 0;  // the least that any limit leaves, 0 or more
  // What `available` is a part of, where a limit leaves less than the machine: "the 195 MiB of address space that
  // `ulimit -v` allows". Empty where it is the machine's memory.
  std::string limit = {};
};

// `allocated`: bytes this process has asked for. What it has not touched of them is not free, though the system says so.
// `root`: where /proc and /sys are found, for tests.
HostMemory host_memory(int64_t allocated = 0, const std::string& root = {});

// "19.6 GiB of 23.5 GiB", or of the limit.
std::string describe(const HostMemory& memory);

}  // namespace rafter
