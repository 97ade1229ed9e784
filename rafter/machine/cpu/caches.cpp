#include "rafter/machine/cpu/caches.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>

namespace rafter::cpu {

namespace {

int first_cpu() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) return cpu;
  }
  return 0;
}

std::string line_of(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

// Takes a number from the front of the text.
std::optional<int64_t> take_number(std::string_view& text) {
  int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || value < 0) return {};
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

std::vector<Cache> from_sysfs() {
  std::vector<Cache> caches;
  for (int index = 0; index < 16; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/", first_cpu(), index);
    const std::string type = line_of(folder + "type");
    if (type.empty()) break;
    const std::string level = line_of(folder + "level");
    std::string_view rest = level;
    const int64_t bytes = parse_cache_size(line_of(folder + "size"));
    const auto number = take_number(rest);
    if (type == "Instruction" || !number || bytes == 0) continue;
    caches.push_back({static_cast<int>(*number), bytes, std::max(1, count_cpus(line_of(folder + "shared_cpu_list")))});
  }
  return caches;
}

std::vector<Cache> from_sysconf() {
  std::vector<Cache> caches;
  const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  for (int level = 1; level <= 3; ++level) {
    const long bytes = ::sysconf(names[level - 1]);
    if (bytes > 0) caches.push_back({level, bytes, 1});
  }
  return caches;
}

}  // namespace

int count_cpus(const std::string& list) {
  std::string_view text = list;
  int64_t count = 0;
  do {
    const auto first = take_number(text);
    if (!first) return 0;
    const auto last = take(text, '-') ? take_number(text) : first;
    if (!last || *last < *first || *last > 1 << 20) return 0;
    count += *last - *first + 1;
  } while (take(text, ','));
  return text.empty() ? static_cast<int>(std::min<int64_t>(count, 1 << 20)) : 0;
}

int64_t parse_cache_size(const std::string& size) {
  std::string_view text = size;
  const auto number = take_number(text);
  if (!number || *number > int64_t{1} << 30) return 0;
  const int shift = take(text, 'K') ? 10 : take(text, 'M') ? 20 : 0;
  return text.empty() ? *number << shift : 0;
}

std::vector<Cache> data_caches() {
  std::vector<Cache> caches = from_sysfs();
  if (caches.empty()) caches = from_sysconf();
  std::sort(caches.begin(), caches.end(), [](const Cache& a, const Cache& b) { return a.level < b.level; });
  return caches;
}

}  // namespace rafter::cpu
