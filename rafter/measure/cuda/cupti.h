// CUPTI, CUDA's library for profilers, opened at run time: the binary starts where there is none. Any of CUDA 12 or 13 serves;
// only what is the same in both is used of it.
#pragma once

#include <cupti.h>

#include <string>
#include <vector>

namespace rafter::cuda {

struct Cupti {
  decltype(&cuptiGetVersion) get_version;
  decltype(&cuptiGetTimestamp) get_timestamp;
  decltype(&cuptiGetResultString) get_result_string;
  decltype(&cuptiGetCallbackName) get_callback_name;
  decltype(&cuptiSubscribe) subscribe;
  decltype(&cuptiUnsubscribe) unsubscribe;
  decltype(&cuptiSetThreadIdType) set_thread_id_type;
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityDisable) disable;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks;
  decltype(&cuptiActivityGetNextRecord) get_next_record;
  decltype(&cuptiActivityGetNumDroppedRecords) get_dropped;
  decltype(&cuptiActivityFlushAll) flush_all;
  decltype(&cuptiActivityPushExternalCorrelationId) push_external_id;
  decltype(&cuptiActivityPopExternalCorrelationId) pop_external_id;

  void* library;     // as dlopen gave it
  std::string path;  // where it lies
  uint32_t version;  // CUPTI's own count: 19 is CUDA 12.0, 130000 is 13.0

  // A runtime Error for anything but success: what failed, CUPTI's name for why, and what to do.
  void check(CUptiResult result, const char* what) const;
};

// Opened once. A runtime Error where there is none, or one older than CUDA 12.
const Cupti& cupti();

// Where it is looked for, in this order: what RAFTER_CUPTI names, and nothing else, where that is set; else what this process
// has loaded already, what the loader finds (LD_LIBRARY_PATH), CUDA's usual folders, and beside an installed PyTorch.
std::vector<std::string> cupti_places();

}  // namespace rafter::cuda
