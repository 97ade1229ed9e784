#include "rafter/machine/cpu/block.h"

#include <sys/mman.h>

#include <cstring>

#include "rafter/base/error.h"
#include "rafter/base/threads.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace rafter::cpu {

namespace {

constexpr int64_t kLine = 64, kPage = int64_t{2} << 20;

#if defined(__x86_64__)
bool has_clflushopt() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & (1u << 23)) != 0;
}

bool flush_lines(char* begin, char* end) {
  static const bool many_at_once = has_clflushopt();
  for (char* p = begin; p < end; p += kLine) {
    if (many_at_once) {
      asm volatile(".byte 0x66\n\tclflush %0" : "+m"(*p));  // clflushopt, for assemblers and builds that do not know it
    } else {
      asm volatile("clflush %0" : "+m"(*p));
    }
  }
  asm volatile("mfence" ::: "memory");
  return true;
}
#elif defined(__aarch64__)
bool flush_lines(char* begin, char* end) {
  for (char* p = begin; p < end; p += kLine) asm volatile("dc civac, %0" ::"r"(p) : "memory");
  asm volatile("dsb ish" ::: "memory");
  return true;
}
#else
bool flush_lines(char*, char*) { return false; }
#endif

void fill(char* begin, char* end, uint32_t seed) {
  uint32_t state = seed * 2654435761u + 1;
  for (char* p = begin; p < end; p += sizeof state) {
    state = state * 1664525u + 1013904223u;
    const uint32_t bits = 0x3f800000u | (state >> 9);
    std::memcpy(p, &bits, sizeof bits);
  }
}

}  // namespace

Block::Block(int64_t bytes, Pages pages) : bytes_((bytes + kPage - 1) / kPage * kPage) {
  void* mapped = ::mmap(nullptr, static_cast<size_t>(bytes_), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    throw runtime_failure(
        {"the memory to measure", fmt::format("{} bytes, more than the system gives", bytes_), {}, "free some memory"});
  }
  data_ = static_cast<char*>(mapped);
#if defined(MADV_HUGEPAGE)
  ::madvise(data_, static_cast<size_t>(bytes_), pages == Pages::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
  cpu_threads().for_range(
      bytes_, 4096, [&](int64_t begin, int64_t end) { fill(data_ + begin, data_ + end, static_cast<uint32_t>(begin / 4096)); });
}

Block::~Block() { ::munmap(data_, static_cast<size_t>(bytes_)); }

bool Block::flush(int64_t bytes) const {
  bool done = flush_lines(data_, data_);
  if (done) {
    cpu_threads().for_range(bytes, kLine, [&](int64_t begin, int64_t end) { flush_lines(data_ + begin, data_ + end); });
  }
  return done;
}

}  // namespace rafter::cpu
