#include "rafter/base/host_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

#include "rafter/base/units.h"

namespace rafter {

namespace {

namespace fs = std::filesystem;

// The number after `key` in a file of lines "key number": meminfo, memory.stat. Without a key, the file's first word.
std::optional<int64_t> number_in(const fs::path& path, const std::string& key = {}) {
  std::ifstream file(path);
  std::string word;
  if (key.empty()) {
    int64_t value = 0;
    return file >> value ? std::optional(value) : std::nullopt;  // none where it says "max"
  }
  while (file >> word) {
    int64_t value = 0;
    if (word == key && file >> value) return value;
    file.clear();
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

void tighten(HostMemory& memory, int64_t available, const std::string& limit) {
  if (available >= memory.available) return;
  memory.available = std::max<int64_t>(0, available);
  memory.limit = limit;
}

// The names of one version's files. Their cache of files goes when memory is wanted, so it counts as free.
struct GroupFiles {
  const char *limit, *usage, *cache;
};

// A group is bound by every group above it as well. In a container the path that the kernel names may lie outside of what
// is mounted; the folders above it are still tried, and the root of the mount is the container's own group.
void tighten_by_group(HostMemory& memory, const fs::path& mount, const fs::path& group, const GroupFiles& files,
                      int64_t untouched) {
  for (fs::path path = group.relative_path();; path = path.parent_path()) {
    const fs::path folder = mount / path;
    const std::optional<int64_t> limit = number_in(folder / files.limit), usage = number_in(folder / files.usage);
    if (limit && usage && *limit < memory.total) {
      const int64_t cache = number_in(folder / "memory.stat", files.cache).value_or(0);
      tighten(memory, *limit - *usage + cache - untouched,
              format_capacity(*limit) + " of memory that its control group allows");
    }
    if (path.empty()) return;
  }
}

void tighten_by_groups(HostMemory& memory, const fs::path& root, int64_t untouched) {
  constexpr GroupFiles kV1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
  constexpr GroupFiles kV2 = {"memory.max", "memory.current", "inactive_file"};
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // number:controllers:path
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',', group = line.substr(second + 1);
    if (controllers == ",,") tighten_by_group(memory, root / "sys/fs/cgroup", group, kV2, untouched);
    if (controllers.find(",memory,") != std::string::npos)
      tighten_by_group(memory, root / "sys/fs/cgroup/memory", group, kV1, untouched);
  }
}

// Both count what is mapped, touched or not.
void tighten_by_process(HostMemory& memory, int64_t mapped, int64_t data) {
  const auto by = [&](int resource, int64_t used, const char* of) {
    rlimit limit{};
    if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    const auto most = static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int64_t>::max()));
    tighten(memory, most - used, fmt::format("{} of {}", format_capacity(most), of));
  };
  by(RLIMIT_AS, mapped, "address space that `ulimit -v` allows");
  by(RLIMIT_DATA, data, "data that `ulimit -d` allows");
}

}  // namespace

HostMemory host_memory(int64_t allocated, const std::string& root) {
  const fs::path top = root.empty() ? "/" : root;
  // In pages: mapped, resident, resident of files, code, nothing, data and stack.
  int64_t mapped = 0, resident = 0, shared = 0, code = 0, nothing = 0, data = 0;
  std::ifstream(top / "proc/self/statm") >> mapped >> resident >> shared >> code >> nothing >> data;
  const int64_t page = ::sysconf(_SC_PAGESIZE);
  const int64_t untouched = std::max<int64_t>(0, allocated - (resident - shared) * page);
  const fs::path meminfo = top / "proc/meminfo";
  HostMemory memory;
  memory.total = number_in(meminfo, "MemTotal:").value_or(0) * 1024;
  memory.available = std::max<int64_t>(0, number_in(meminfo, "MemAvailable:").value_or(0) * 1024 - untouched);
  tighten_by_groups(memory, top, untouched);
  tighten_by_process(memory, mapped * page, data * page);
  return memory;
}

std::string describe(const HostMemory& memory) {
  return format_capacity(memory.available) + " of " + (memory.limit.empty() ? "" : "the ") +
         (memory.limit.empty() ? format_capacity(memory.total) : memory.limit);
}

}  // namespace rafter
