// The links of a GPU: to the host over PCIe or C2C, and to the GPUs beside it.
//
// link.h2d, link.d2h: one copy and a wait for it, by the host's clock, as a program sees it: of small sizes the latency is
// most. From pinned memory the GPU copies alone; pageable memory the driver stages through pinned memory of its own, with
// the processor's help. link.bidirectional: both ways at once, in two streams, bytes of both added. link.peer: copies from and
// to another GPU and, for the latency, by a kernel that follows a random cycle of pointers there.
//
// Expect of PCIe 5.0 x16 some 55 GB/s each way, of PCIe 4.0 26, of NVLink 4 between two H100s some 370 GB/s each way and
// about a microsecond.
#include <chrono>
#include <numeric>
#include <utility>
#include <vector>

#include "rafter/base/random.h"
#include "rafter/device/cuda/launch.h"
#include "rafter/machine/cuda/gpu_timer.h"
#include "rafter/machine/cuda/probe_list.h"
#include "rafter/machine/cuda/stopwatch.cuh"
#include "rafter/machine/cuda/streams.cuh"

namespace rafter::cuda {

namespace {

constexpr int64_t kMost = int64_t{256} << 20;
constexpr double kShare = 0.15;                                 // of a figure's usual time
constexpr int kNodes = 1 << 14, kNodeWords = 16, kHops = 4096;  // 128-byte nodes

// By the host's clock: what the calls and the waits of `work` take.
template <typename Work>
Estimate host_rate(double bytes, const StopRule& rule, const Work& work) {
  const auto take = [&] {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    return Sample{bytes / spent.count(), 0};
  };
  take();
  return measure(take, rule);
}

class HostLink {
 public:
  explicit HostLink(Probing& probing)
      : probing_(probing),
        up_(probing.device().make_stream()),
        down_(probing.device().make_stream()),
        source_(probing.device(), kMost),
        target_(probing.device(), kMost),
        pinned_in_(probing.device(), kMost),
        pinned_out_(probing.device(), kMost),
        pageable_(static_cast<size_t>(kMost)) {
    fill_random(*up_, source_);
    up_->copy_out(pinned_in_.as<char>(), source_.data(), kMost);
    up_->copy_out(pinned_out_.as<char>(), source_.data(), kMost);
    up_->copy_out(pageable_.data(), source_.data(), kMost);
    up_->synchronize();
  }

  void measure_size(int64_t bytes) {
    const auto in = [&](const char* from) {
      return [this, from, bytes] {
        up_->copy_in(target_.data(), from, bytes);
        up_->synchronize();
      };
    };
    const auto out = [&](char* to) {
      return [this, to, bytes] {
        down_->copy_out(to, source_.data(), bytes);
        down_->synchronize();
      };
    };
    add("link.h2d", bytes, "pinned", 1, in(pinned_in_.as<char>()));
    add("link.d2h", bytes, "pinned", 1, out(pinned_out_.as<char>()));
    add("link.h2d", bytes, "pageable", 1, in(pageable_.data()));
    add("link.d2h", bytes, "pageable", 1, out(pageable_.data()));
    add("link.bidirectional", bytes, "pinned", 2, [&] {
      up_->copy_in(target_.data(), pinned_in_.as<char>(), bytes);
      down_->copy_out(pinned_out_.as<char>(), source_.data(), bytes);
      up_->synchronize();
      down_->synchronize();
    });
  }

 private:
  template <typename Work>
  void add(const char* name, int64_t bytes, const char* state, int ways, const Work& work) {
    const double moved = static_cast<double>(bytes) * ways;
    const Estimate value = host_rate(moved, probing_.rule(kShare), work);
    probing_.add({name, {{"bytes", static_cast<double>(bytes)}}, state, "B/s", value, {}});
  }

  Probing& probing_;
  std::unique_ptr<Stream> up_, down_;
  Buffer source_, target_;
  PinnedBuffer pinned_in_, pinned_out_;
  std::vector<char> pageable_;
};

// Follows `hops` pointers; each load waits for the one before, and none comes from a cache of this GPU.
__global__ void follow(const uint64_t* node, int hops, Stamp* stamp, uint64_t* out) {
  const Stopwatch watch;
  for (int i = 0; i < hops; ++i) {
    uint64_t next;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(next) : "l"(node) : "memory");
    node = reinterpret_cast<const uint64_t*>(next);
  }
  *out = reinterpret_cast<uint64_t>(node);
  *stamp = watch.read();
}

// One random cycle through all nodes at `base`, each the address of the next.
std::vector<uint64_t> cycle_at(const void* base) {
  std::vector<int> order(kNodes);
  std::iota(order.begin(), order.end(), 0);
  Random random(11);
  for (int i = kNodes - 1; i > 0; --i) std::swap(order[i], order[random.below(static_cast<uint32_t>(i) + 1)]);
  std::vector<uint64_t> words(static_cast<size_t>(kNodes) * kNodeWords);
  for (int i = 0; i < kNodes; ++i) {
    const int next = order[(i + 1) % kNodes];
    words[static_cast<size_t>(order[i]) * kNodeWords] =
        reinterpret_cast<uint64_t>(base) + static_cast<uint64_t>(next) * kNodeWords * sizeof(uint64_t);
  }
  return words;
}

// Peer access from one GPU to another while it lives; the GPU that measures is the current one throughout.
class PeerAccess {
 public:
  PeerAccess(int self, int other) : other_(other) {
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, self, other), "asking for peer access");
    check(cudaSetDevice(self), "selecting a device");
    if (can == 0) return;
    const cudaError_t status = cudaDeviceEnablePeerAccess(other, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {
      cudaGetLastError();  // someone else's, and theirs to end
    } else {
      check(status, "enabling peer access");
      mine_ = true;
    }
    enabled_ = true;
  }
  ~PeerAccess() {
    if (mine_) cudaDeviceDisablePeerAccess(other_);
  }
  PeerAccess(const PeerAccess&) = delete;
  PeerAccess& operator=(const PeerAccess&) = delete;
  bool enabled() const { return enabled_; }

 private:
  int other_;
  bool mine_ = false, enabled_ = false;
};

void add_peer(Probing& probing, GpuTimer& timer, int other) {
  const int self = probing.info().id.index;
  Device& there = rafter::device({DeviceKind::cuda, other});
  const Buffer remote(there, kMost), local(probing.device(), kMost);
  const auto remote_stream = there.make_stream();
  fill_random(*remote_stream, remote);
  const PeerAccess access(self, other);  // selects this GPU again
  const std::vector<std::pair<std::string, double>> at = {{"gpu", static_cast<double>(other)}};
  const char* remark = access.enabled() ? "" : "no peer access: through the host";
  const auto copy = [&](void* to, int to_gpu, const void* from, int from_gpu) {
    return host_rate(static_cast<double>(kMost), probing.rule(kShare), [&] {
      const auto stream = static_cast<cudaStream_t>(timer.stream().native());
      check(cudaMemcpyPeerAsync(to, to_gpu, from, from_gpu, static_cast<size_t>(kMost), stream), "copying between GPUs");
      timer.stream().synchronize();
    });
  };
  probing.add({"link.peer", at, "read", "B/s", copy(local.data(), self, remote.data(), other), remark});
  probing.add({"link.peer", at, "write", "B/s", copy(remote.data(), other, local.data(), self), remark});
  if (!access.enabled()) return;

  const std::vector<uint64_t> cycle = cycle_at(remote.data());
  remote_stream->copy_in(remote.data(), cycle.data(), static_cast<int64_t>(cycle.size() * sizeof(uint64_t)));
  remote_stream->synchronize();
  const PinnedBuffer memory(probing.device(), sizeof(Stamp));
  const auto take = [&] {
    launch(timer.stream(), {.grid = dim3(1), .block = dim3(1)}, follow, static_cast<const uint64_t*>(remote.data()), kHops,
           memory.as<Stamp>(), static_cast<uint64_t*>(local.data()));
    timer.stream().synchronize();
    return Sample{memory.as<Stamp>()->seconds() / kHops, memory.as<Stamp>()->hz()};
  };
  take();
  const Estimate value = measure(take, probing.rule(kShare), timer.default_clock_hz());
  probing.add({"link.peer_latency", at, "", "s", value, "of a load, random lines"});
}

}  // namespace

void probe_link(Probing& probing) {
  {
    HostLink link(probing);
    const int64_t factor = probing.quick() ? 64 : 4;
    double done = 0;
    for (int64_t bytes = 4096; bytes <= kMost; bytes *= factor) {
      link.measure_size(bytes);
      probing.progress(0.9 * (done += 1) / (probing.quick() ? 3 : 9), "host and GPU");
    }
    if (probing.quick()) link.measure_size(kMost);
  }
  const int gpus = cuda_status().devices;
  if (gpus < 2) return;
  GpuTimer timer(probing.device());
  for (int other = 0; other < gpus; ++other) {
    if (other != probing.info().id.index) add_peer(probing, timer, other);
  }
}

}  // namespace rafter::cuda
