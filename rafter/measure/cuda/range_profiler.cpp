// The method: the Range Profiler makes a range of every kernel launch (automatic ranges), runs the kernels one by one, and
// replays a kernel where its metrics do not fit one pass. The metrics here fit one pass on GH100, so that nothing is replayed
// there.
#include "rafter/measure/cuda/range_profiler.h"

#include <cuda_runtime.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "rafter/base/error.h"
#include "rafter/device/cuda/launch.h"
#include "rafter/measure/cuda/cupti.h"

namespace rafter::cuda {

namespace {

constexpr double kSectorBytes = 32, kNanosecond = 1e-9;

struct Quantity {
  const char* name;
  std::optional<double> KernelCounters::*field;
  double scale;
  std::array<const char*, 2> metrics;  // the first that the chip has
};

constexpr Quantity kQuantities[] = {
    {"seconds", &KernelCounters::seconds, kNanosecond, {"gpu__time_duration.sum", nullptr}},
    {"cycles", &KernelCounters::cycles, 1, {"sm__cycles_elapsed.max", nullptr}},
    {"dram_bytes_read", &KernelCounters::dram_bytes_read, 1, {"dram__bytes_read.sum", "dram__bytes_op_read.sum"}},
    {"dram_bytes_written", &KernelCounters::dram_bytes_written, 1, {"dram__bytes_write.sum", "dram__bytes_op_write.sum"}},
    {"l2_bytes", &KernelCounters::l2_bytes, kSectorBytes, {"lts__t_sectors_srcunit_tex.sum", nullptr}},
    {"l2_fabric_bytes", &KernelCounters::l2_fabric_bytes, kSectorBytes, {"lts__t_sectors_srcunit_ltcfabric.sum", nullptr}},
    {"l1_bytes", &KernelCounters::l1_bytes, 1, {"l1tex__t_bytes.sum", nullptr}},
    {"tensor_percent",
     &KernelCounters::tensor_percent,
     1,
     {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
      "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active"}},
    {"occupancy_percent",
     &KernelCounters::occupancy_percent,
     1,
     {"sm__warps_active.avg.pct_of_peak_sustained_active", nullptr}},
    {"active_percent", &KernelCounters::active_percent, 1, {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", nullptr}},
    {"local_loads",
     &KernelCounters::local_loads,
     1,
     {"smsp__inst_executed_op_local_ld.sum", "sm__inst_executed_op_local_ld.sum"}},
};

template <typename Function>
Function in_library(const char* name) {
  return reinterpret_cast<Function>(::dlsym(cupti().library, name));
}

// The functions of the Range Profiler, found by name; a null one means that this CUPTI is older than CUDA 12.6.
struct Api {
#define RAFTER_CUPTI(name) decltype(&::name) name = in_library<decltype(&::name)>(#name)
  RAFTER_CUPTI(cuptiDeviceGetChipName);
  RAFTER_CUPTI(cuptiProfilerInitialize);
  RAFTER_CUPTI(cuptiProfilerGetCounterAvailability);
  RAFTER_CUPTI(cuptiProfilerHostInitialize);
  RAFTER_CUPTI(cuptiProfilerHostDeinitialize);
  RAFTER_CUPTI(cuptiProfilerHostGetMetricProperties);
  RAFTER_CUPTI(cuptiProfilerHostConfigAddMetrics);
  RAFTER_CUPTI(cuptiProfilerHostGetConfigImageSize);
  RAFTER_CUPTI(cuptiProfilerHostGetConfigImage);
  RAFTER_CUPTI(cuptiProfilerHostEvaluateToGpuValues);
  RAFTER_CUPTI(cuptiRangeProfilerEnable);
  RAFTER_CUPTI(cuptiRangeProfilerDisable);
  RAFTER_CUPTI(cuptiRangeProfilerGetCounterDataSize);
  RAFTER_CUPTI(cuptiRangeProfilerCounterDataImageInitialize);
  RAFTER_CUPTI(cuptiRangeProfilerSetConfig);
  RAFTER_CUPTI(cuptiRangeProfilerStart);
  RAFTER_CUPTI(cuptiRangeProfilerStop);
  RAFTER_CUPTI(cuptiRangeProfilerDecodeData);
  RAFTER_CUPTI(cuptiRangeProfilerGetCounterDataInfo);
#undef RAFTER_CUPTI
  bool complete() const { return cuptiRangeProfilerGetCounterDataInfo != nullptr && cuptiProfilerHostInitialize != nullptr; }
};

// Each call takes a struct that says how long it is, by which CUPTI knows its version.
template <typename Params>
Params sized(size_t size) {
  Params params{};
  params.structSize = size;
  return params;
}
#define RAFTER_PARAMS(type) sized<type>(type##_STRUCT_SIZE)

// Why counters cannot be read. Caught in this file: it is no failure of the program.
struct Refusal {
  std::string why;
};

void check_cupti(CUptiResult result, const std::string& call) {
  if (result == CUPTI_SUCCESS) return;
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) {
    throw Refusal{
        "the driver lets only administrators read hardware counters; load the module nvidia with "
        "NVreg_RestrictProfilingToAdminUsers=0, or run with CAP_SYS_ADMIN"};
  }
  const char* text = nullptr;
  cupti().get_result_string(result, &text);
  throw Refusal{fmt::format("{}: {}", call, text != nullptr ? text : "CUPTI gave no reason")};
}

// What the chip counts, and the image that sets it up.
class Metrics {
 public:
  Metrics(const Api& api, const std::string& chip, const std::vector<uint8_t>* availability) : api_(api) {
    auto params = RAFTER_PARAMS(CUpti_Profiler_Host_Initialize_Params);
    params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    params.pChipName = chip.c_str();
    params.pCounterAvailabilityImage = availability != nullptr ? availability->data() : nullptr;
    check_cupti(api_.cuptiProfilerHostInitialize(&params), "setting up the counters of chip " + chip);
    host_ = params.pHostObject;
    for (const Quantity& quantity : kQuantities) {
      for (const char* metric : quantity.metrics) {
        if (metric == nullptr || !has(metric)) continue;
        quantities_.push_back(&quantity);
        names_.push_back(metric);
        break;
      }
    }
  }
  ~Metrics() {
    auto params = RAFTER_PARAMS(CUpti_Profiler_Host_Deinitialize_Params);
    params.pHostObject = host_;
    api_.cuptiProfilerHostDeinitialize(&params);
  }
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  std::map<std::string, std::string> by_quantity() const {
    std::map<std::string, std::string> out;
    for (size_t i = 0; i < names_.size(); ++i) out[quantities_[i]->name] = names_[i];
    return out;
  }
  std::vector<const char*>& names() { return names_; }

  std::vector<uint8_t> config_image() {
    auto add = RAFTER_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params);
    add.pHostObject = host_;
    add.ppMetricNames = names_.data();
    add.numMetrics = names_.size();
    check_cupti(api_.cuptiProfilerHostConfigAddMetrics(&add), "choosing the counters");
    auto size = RAFTER_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params);
    size.pHostObject = host_;
    check_cupti(api_.cuptiProfilerHostGetConfigImageSize(&size), "sizing the counters' set-up");
    std::vector<uint8_t> image(size.configImageSize);
    auto get = RAFTER_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params);
    get.pHostObject = host_;
    get.configImageSize = image.size();
    get.pConfigImage = image.data();
    check_cupti(api_.cuptiProfilerHostGetConfigImage(&get), "reading the counters' set-up");
    return image;
  }

  KernelCounters values(const std::vector<uint8_t>& data, size_t range) {
    std::vector<double> values(names_.size());
    auto params = RAFTER_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
    params.pHostObject = host_;
    params.pCounterDataImage = data.data();
    params.counterDataImageSize = data.size();
    params.rangeIndex = range;
    params.ppMetricNames = names_.data();
    params.numMetrics = names_.size();
    params.pMetricValues = values.data();
    check_cupti(api_.cuptiProfilerHostEvaluateToGpuValues(&params), "reading a kernel's counters");
    KernelCounters counters;
    for (size_t i = 0; i < values.size(); ++i) counters.*quantities_[i]->field = values[i] * quantities_[i]->scale;
    return counters;
  }

 private:
  bool has(const char* metric) const {
    auto params = RAFTER_PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params);
    params.pHostObject = host_;
    params.pMetricName = metric;
    return api_.cuptiProfilerHostGetMetricProperties(&params) == CUPTI_SUCCESS;
  }

  const Api& api_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  std::vector<const Quantity*> quantities_;
  std::vector<const char*> names_;
};

CUcontext current_context() {
  CUresult (*get)(CUcontext*) = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaFree(nullptr), "making a CUDA context");
  check(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", reinterpret_cast<void**>(&get), 12000, cudaEnableDefault, &found),
        "finding the driver's context");
  CUcontext context = nullptr;
  if (get == nullptr || get(&context) != CUDA_SUCCESS || context == nullptr) throw Refusal{"there is no CUDA context"};
  return context;
}

std::string chip_of_current_device(const Api& api) {
  int device = 0;
  check(cudaGetDevice(&device), "asking for the device");
  auto params = RAFTER_PARAMS(CUpti_Device_GetChipName_Params);
  params.deviceIndex = static_cast<size_t>(device);
  check_cupti(api.cuptiDeviceGetChipName(&params), "asking for the chip's name");
  return params.pChipName;
}

std::vector<uint8_t> availability_of(const Api& api, CUcontext context) {
  auto params = RAFTER_PARAMS(CUpti_Profiler_GetCounterAvailability_Params);
  params.ctx = context;
  check_cupti(api.cuptiProfilerGetCounterAvailability(&params), "asking which counters there are");
  std::vector<uint8_t> image(params.counterAvailabilityImageSize);
  params.pCounterAvailabilityImage = image.data();
  check_cupti(api.cuptiProfilerGetCounterAvailability(&params), "asking which counters there are");
  return image;
}

// Counting on one context while it lives.
class Session {
 public:
  Session(const Api& api, CUcontext context) : api_(api) {
    auto params = RAFTER_PARAMS(CUpti_RangeProfiler_Enable_Params);
    params.ctx = context;
    check_cupti(api_.cuptiRangeProfilerEnable(&params), "switching the counters on");
    profiler_ = params.pRangeProfilerObject;
  }
  ~Session() {
    auto params = RAFTER_PARAMS(CUpti_RangeProfiler_Disable_Params);
    params.pRangeProfilerObject = profiler_;
    api_.cuptiRangeProfilerDisable(&params);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The counters of at most `most` kernels that `work` launches, undecoded.
  std::vector<uint8_t> run(Metrics& metrics, size_t most, const std::function<void()>& work) {
    std::vector<uint8_t> data = data_image(metrics, most);
    const std::vector<uint8_t> config = metrics.config_image();
    auto set = RAFTER_PARAMS(CUpti_RangeProfiler_SetConfig_Params);
    set.pRangeProfilerObject = profiler_;
    set.configSize = config.size();
    set.pConfig = config.data();
    set.counterDataImageSize = data.size();
    set.pCounterDataImage = data.data();
    set.range = CUPTI_AutoRange;
    set.replayMode = CUPTI_KernelReplay;
    set.maxRangesPerPass = most;
    set.numNestingLevels = 1;
    set.minNestingLevel = 1;
    set.targetNestingLevel = 1;
    check_cupti(api_.cuptiRangeProfilerSetConfig(&set), "setting the counters up");
    auto start = RAFTER_PARAMS(CUpti_RangeProfiler_Start_Params);
    start.pRangeProfilerObject = profiler_;
    check_cupti(api_.cuptiRangeProfilerStart(&start), "starting the counters");
    work();
    check(cudaDeviceSynchronize(), "running what is counted");
    auto stop = RAFTER_PARAMS(CUpti_RangeProfiler_Stop_Params);
    stop.pRangeProfilerObject = profiler_;
    check_cupti(api_.cuptiRangeProfilerStop(&stop), "stopping the counters");
    auto decode = RAFTER_PARAMS(CUpti_RangeProfiler_DecodeData_Params);
    decode.pRangeProfilerObject = profiler_;
    check_cupti(api_.cuptiRangeProfilerDecodeData(&decode), "decoding the counters");
    return data;
  }

 private:
  std::vector<uint8_t> data_image(Metrics& metrics, size_t most) {
    auto size = RAFTER_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params);
    size.pRangeProfilerObject = profiler_;
    size.pMetricNames = metrics.names().data();
    size.numMetrics = metrics.names().size();
    size.maxNumOfRanges = most;
    size.maxNumRangeTreeNodes = static_cast<uint32_t>(most);
    check_cupti(api_.cuptiRangeProfilerGetCounterDataSize(&size), "sizing the counters' data");
    std::vector<uint8_t> data(size.counterDataSize);
    auto init = RAFTER_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    init.pRangeProfilerObject = profiler_;
    init.counterDataSize = data.size();
    init.pCounterData = data.data();
    check_cupti(api_.cuptiRangeProfilerCounterDataImageInitialize(&init), "making room for the counters");
    return data;
  }

  const Api& api_;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
};

size_t ranges_in(const Api& api, const std::vector<uint8_t>& data) {
  auto params = RAFTER_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params);
  params.pCounterDataImage = data.data();
  params.counterDataImageSize = data.size();
  check_cupti(api.cuptiRangeProfilerGetCounterDataInfo(&params), "counting the kernels");
  return params.numTotalRanges;
}

const Api& complete_api() {
  static const Api api;
  if (!api.complete()) throw Refusal{fmt::format("{} is older than CUDA 12.6 and has no range profiler", cupti().path)};
  return api;
}

}  // namespace

std::map<std::string, std::string> counter_metrics(const std::string& chip) {
  try {
    return Metrics(complete_api(), chip, nullptr).by_quantity();
  } catch (const Refusal&) {
    return {};
  } catch (const Error&) {  // there is no CUPTI
    return {};
  }
}

CounterRun count_kernels(int64_t most, const std::function<void()>& work) {
  try {
    cupti();
  } catch (const Error& error) {
    return {{}, error.what()};
  }
  try {
    const Api& api = complete_api();
    auto init = RAFTER_PARAMS(CUpti_Profiler_Initialize_Params);
    check_cupti(api.cuptiProfilerInitialize(&init), "starting CUPTI's profiler");
    const CUcontext context = current_context();
    const std::vector<uint8_t> availability = availability_of(api, context);
    Metrics metrics(api, chip_of_current_device(api), &availability);
    std::vector<uint8_t> data;
    {
      Session session(api, context);
      data = session.run(metrics, static_cast<size_t>(most), work);
    }
    CounterRun run;
    for (size_t range = 0; range < ranges_in(api, data); ++range) run.kernels.push_back(metrics.values(data, range));
    return run;
  } catch (const Refusal& refusal) {
    return {{}, refusal.why};
  }
}

}  // namespace rafter::cuda
