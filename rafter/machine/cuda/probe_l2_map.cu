// Which SM is how far from L2: an L2 of two partitions answers an SM sooner from the one that it sits beside.
//
// The idea: a line that points to itself, followed past L1 by one thread on a chosen SM, tells how far that line is from that
// SM. Followed 64 times it tells what the SM sees once its partition holds the line: Hopper's keep copies of each other's
// lines, so that after the first visit hardly a line is far. latency.l2_sm is the median of that over 128 random lines.
// A line that another SM has just written has no copies, so that one timed visit goes to where the line lives: these first
// visits fall in two groups where L2 has two partitions. latency.l2_near and latency.l2_far are the medians over all SMs of the
// groups' centres, less what reading the clock costs, and the remark says how many SMs show them clearly.
// SMs take turns, so that none waits for another.
// Expect on an H100 or H200, in cycles: near 219 to 280, far 400 to 500; one group on GPUs whose L2 is one piece.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "rafter/device/cuda/launch.h"
#include "rafter/machine/cuda/chase.cuh"
#include "rafter/machine/cuda/probe_list.h"
#include "rafter/machine/groups.h"

namespace rafter::cuda {

namespace {

constexpr int kMostLines = 128;
constexpr int kFollows = 64;
constexpr int64_t kSpan = int64_t{4} << 20, kPage = int64_t{2} << 20;

// Spread evenly over the span, at random places.
__device__ inline char* own_line(const Ring& ring, int index) {
  return line_of(ring, Permutation(static_cast<uint64_t>(ring.count), ring.key), index);
}

__global__ void link_to_themselves(Ring ring) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < ring.count) *reinterpret_cast<char**>(own_line(ring, i)) = own_line(ring, i);
}

struct SmReport {
  int claimed = 0;
  Stamp all{};               // over all lines: the clock
  int clock_cycles = 0;      // between two readings of the clock with nothing in between
  int first[kMostLines]{};   // cycles of the first visit to each line, those of the clock included
  int cycles[kMostLines]{};  // of kFollows more
};

// Runs where %smid is `sm`, in the first block that finds itself there; all others end at once.
__global__ void follow_from(int sm, Ring ring, SmReport* report) {
  int here;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
  if (here != sm || atomicExch(&report->claimed, 1) != 0) return;
  const Stopwatch watch;
  // The TLB: a word of each page that is in no line of the ring's first visits matters to nothing but the pages.
  for (int64_t at = 0; at < ring.span(); at += kPage) {
    if (follow<Path::l2>(ring.base + at + kLine / 2) == ring.base) return;  // never
  }
  const int64_t before = sm_cycles();
  report->clock_cycles = static_cast<int>(sm_cycles() - before);
  for (int i = 0; i < ring.count; ++i) {
    char* const line = own_line(ring, i);
    const int64_t start = sm_cycles();
    const char* const next = follow<Path::l2>(line);
    if (next == nullptr) return;  // never; and the wait for the load
    report->first[i] = static_cast<int>(sm_cycles() - start);
  }
  for (int i = 0; i < ring.count; ++i) {
    const int64_t start = sm_cycles();
    if (walk<Path::l2>(own_line(ring, i), kFollows) == nullptr) return;
    report->cycles[i] = static_cast<int>(sm_cycles() - start);
  }
  report->all = watch.read();
}

std::vector<SmReport> map_sms(Probing& probing, Stream& stream, int lines) {
  const int sms = probing.info().multiprocessors;
  const Buffer memory(probing.device(), kSpan), reports(probing.device(), sms * static_cast<int64_t>(sizeof(SmReport)));
  const Ring ring{static_cast<char*>(memory.data()), lines, kSpan / lines};
  auto* device_reports = static_cast<SmReport*>(reports.data());
  stream.fill(device_reports, 0, reports.bytes());
  for (int sm = 0; sm < sms; ++sm) {
    launch(stream, {.grid = dim3(1), .block = dim3(kMostLines)}, link_to_themselves, ring);
    launch(stream, {.grid = dim3(sms * 4), .block = dim3(1)}, follow_from, sm, ring, device_reports + sm);
    if (sm % 16 == 0) {
      stream.synchronize();
      probing.progress(static_cast<double>(sm) / sms, fmt::format("SM {} of {}", sm, sms));
    }
  }
  std::vector<SmReport> found(static_cast<size_t>(sms));
  stream.copy_out(found.data(), device_reports, reports.bytes());
  stream.synchronize();
  return found;
}

StopRule all_samples() {
  StopRule rule;
  rule.least_clock = 0;
  return rule;
}

}  // namespace

void probe_l2_map(Probing& probing) {
  const std::unique_ptr<Stream> stream = probing.device().make_stream();
  const int lines = probing.quick() ? 32 : kMostLines;
  const std::vector<SmReport> reports = map_sms(probing, *stream, lines);
  std::vector<Sample> near, far;
  std::vector<double> gaps;
  int clear = 0;
  for (size_t sm = 0; sm < reports.size(); ++sm) {
    const double hz = reports[sm].all.hz();
    if (!(hz > 0)) continue;  // no block came to this SM
    std::vector<Sample> samples;
    std::vector<double> first_visits;
    for (int i = 0; i < lines; ++i) {
      first_visits.push_back((reports[sm].first[i] - reports[sm].clock_cycles) / hz);
      samples.push_back({reports[sm].cycles[i] / (kFollows * hz), hz});
    }
    const TwoGroups groups = split_in_two(first_visits);
    probing.add({"latency.l2_sm",
                 {{"sm", static_cast<double>(sm)}},
                 "warm",
                 "s",
                 summarise_samples(samples, all_samples()),
                 fmt::format("first visits {:.0f} and {:.0f} cycles, {:.0f}% of the lines near", groups.low * hz,
                             groups.high * hz, 100 * groups.low_share)});
    near.push_back({groups.low, hz});
    far.push_back({groups.high, hz});
    gaps.push_back(groups.gap);
    clear += groups.clear() ? 1 : 0;
  }
  if (near.empty()) return;
  std::sort(gaps.begin(), gaps.end());
  const std::string remark =
      fmt::format("{} on {} of {} SMs; the groups lie {:.1f} of their spreads apart",
                  2 * clear > static_cast<int>(near.size()) ? "two groups of lines told clearly apart"
                                                            : "no two partitions to be seen: two clear groups of lines only",
                  clear, near.size(), gaps[gaps.size() / 2]);
  probing.add({"latency.l2_near", {}, "warm", "s", summarise_samples(near, all_samples()), remark});
  probing.add({"latency.l2_far", {}, "warm", "s", summarise_samples(far, all_samples()), remark});
}

}  // namespace rafter::cuda
