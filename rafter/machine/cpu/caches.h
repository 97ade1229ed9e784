// The data caches that the system says a CPU has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rafter::cpu {

struct Cache {
  int level = 1;
  int64_t bytes = 0;
  int shared_by = 1;  // CPUs, as many as the system tells
};

// Level 1 first, from sysfs for the first CPU that this process may run on, else from sysconf. Empty where neither knows. A
// virtual machine may see a cache that others use too.
std::vector<Cache> data_caches();

// CPUs in a list as the kernel writes them: "0-3,8" has five. 0 where the text is no such list.
int count_cpus(const std::string& list);
// "48K", "2048K", "105M" in bytes. 0 where the text is no size.
int64_t parse_cache_size(const std::string& text);

}  // namespace rafter::cpu
