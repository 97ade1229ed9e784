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

__device__ inline int sm_id() {
  int id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

// Spread evenly over the span, at random places.
__device__ inline char* own_line(const Ring& ring, int index) {
  return line_of(ring, Permutation(static_cast<uint64_t>(ring.count), ring.key), index);
}

// By the blocks that find themselves on `writer`.
__global__ void link_to_themselves(Ring ring, int writer) {
  const int i = static_cast<int>(threadIdx.x);
  if (sm_id() == writer && i < ring.count) *reinterpret_cast<char**>(own_line(ring, i)) = own_line(ring, i);
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
  if (sm_id() != sm || atomicExch(&report->claimed, 1) != 0) return;
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

// Of every SM, over lines that the SM `writer` has just written.
std::vector<SmReport> map_sms(Probing& probing, Stream& stream, int lines, int writer) {
  const int sms = probing.info().multiprocessors;
  const Buffer memory(probing.device(), kSpan), reports(probing.device(), sms * static_cast<int64_t>(sizeof(SmReport)));
  const Ring ring{static_cast<char*>(memory.data()), lines, kSpan / lines};
  auto* device_reports = static_cast<SmReport*>(reports.data());
  stream.fill(device_reports, 0, reports.bytes());
  for (int sm = 0; sm < sms; ++sm) {
    launch(stream, {.grid = dim3(sms * 4), .block = dim3(kMostLines)}, link_to_themselves, ring, writer);
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

struct SmView {
  double hz = 0;
  TwoGroups groups;   // of the first visits, in seconds
  Estimate repeated;  // seconds of a visit among many
  double gap() const { return hz > 0 ? groups.high - groups.low : 0; }
};

std::vector<SmView> views_of(const std::vector<SmReport>& reports, int lines) {
  std::vector<SmView> views;
  for (const SmReport& report : reports) {
    SmView view{report.all.hz(), {}, {}};
    std::vector<double> first_visits;
    std::vector<Sample> repeated;
    for (int i = 0; i < lines && view.hz > 0; ++i) {
      first_visits.push_back((report.first[i] - report.clock_cycles) / view.hz);
      repeated.push_back({report.cycles[i] / (kFollows * view.hz), view.hz});
    }
    view.groups = split_in_two(first_visits);
    view.repeated = summarise_samples(repeated, all_samples());
    views.push_back(view);
  }
  return views;
}

}  // namespace

void probe_l2_map(Probing& probing) {
  const std::unique_ptr<Stream> stream = probing.device().make_stream();
  const int lines = probing.quick() ? 32 : kMostLines;
  map_sms(probing, *stream, lines, 0);  // loads the code
  std::vector<SmView> views = views_of(map_sms(probing, *stream, lines, 0), lines);
  // What an SM has written lies near all SMs on its own side, so the far lines of that side take a writer on the other: the
  // SM that saw the first writer's lines part most.
  const auto across =
      std::max_element(views.begin(), views.end(), [](const SmView& a, const SmView& b) { return a.gap() < b.gap(); });
  const std::vector<SmView> others =
      views_of(map_sms(probing, *stream, lines, static_cast<int>(across - views.begin())), lines);
  std::vector<Sample> near, far;
  std::vector<double> apart;
  int clear = 0;
  for (size_t sm = 0; sm < views.size(); ++sm) {
    if (others[sm].gap() > views[sm].gap()) views[sm] = others[sm];
    const SmView& view = views[sm];
    if (!(view.hz > 0)) continue;  // no block came to this SM
    probing.add({"latency.l2_sm",
                 {{"sm", static_cast<double>(sm)}},
                 "warm",
                 "s",
                 view.repeated,
                 fmt::format("first visits {:.0f} and {:.0f} cycles, {:.0f}% of the lines near", view.groups.low * view.hz,
                             view.groups.high * view.hz, 100 * view.groups.low_share)});
    near.push_back({view.groups.low, view.hz});
    far.push_back({view.groups.high, view.hz});
    apart.push_back(view.groups.gap);
    clear += view.groups.clear() ? 1 : 0;
  }
  if (near.empty()) return;
  std::sort(apart.begin(), apart.end());
  const std::string remark =
      fmt::format("{} on {} of {} SMs; the groups lie {:.1f} of their spreads apart",
                  2 * clear > static_cast<int>(near.size()) ? "two groups of lines told clearly apart"
                                                            : "no two partitions to be seen: two clear groups of lines only",
                  clear, near.size(), apart[apart.size() / 2]);
  probing.add({"latency.l2_near", {}, "warm", "s", summarise_samples(near, all_samples()), remark});
  probing.add({"latency.l2_far", {}, "warm", "s", summarise_samples(far, all_samples()), remark});
}

}  // namespace rafter::cuda
