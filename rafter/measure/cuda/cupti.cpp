#include "rafter/measure/cuda/cupti.h"

#include <dlfcn.h>
#include <glob.h>

#include <cstdlib>
#include <filesystem>
#include <type_traits>

#include "rafter/base/error.h"

namespace rafter::cuda {

namespace {

constexpr uint32_t kOldest = 19;  // CUDA 12.0
constexpr const char* kRemedy =
    "Install CUDA's CUPTI (Debian: cuda-cupti; pip: nvidia-cuda-cupti), or set RAFTER_CUPTI to the path of a libcupti.so";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Of CUDA that the driver is of, 12 or 13; a newer CUPTI would refuse it. 0 where no driver is loaded.
int driver_major() {
  void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return 0;
  const auto get_version = reinterpret_cast<CUresult (*)(int*)>(::dlsym(driver, "cuDriverGetVersion"));
  int version = 0;
  const bool known = get_version != nullptr && get_version(&version) == CUDA_SUCCESS;
  ::dlclose(driver);
  return known ? version / 1000 : 0;
}

void add_matches(std::vector<std::string>& places, const std::string& pattern) {
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (size_t i = found.gl_pathc; i-- > 0;) places.emplace_back(found.gl_pathv[i]);  // the highest version first
  }
  ::globfree(&found);
}

// Folders of CUDA, and of Python where PyTorch brings a CUPTI of its own.
std::vector<std::string> folders() {
  std::vector<std::string> result;
  for (const std::string& root : {variable("CUDA_HOME"), variable("CUDA_PATH"), std::string("/usr/local/cuda"),
                                  std::string("/usr/local/cuda-*"), std::string("/opt/cuda")}) {
    if (root.empty()) continue;
    result.push_back(root + "/lib64/");
    result.push_back(root + "/extras/CUPTI/lib64/");
  }
  std::error_code code;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", code).parent_path().parent_path().string();
  for (const std::string& root : {program, variable("VIRTUAL_ENV"), variable("CONDA_PREFIX"), variable("HOME") + "/.local",
                                  std::string("/usr/local"), std::string("/usr")}) {
    if (root.empty()) continue;
    for (const char* packages : {"/lib/python3*/site-packages", "/lib/python3*/dist-packages"}) {
      result.push_back(root + packages + "/nvidia/cuda_cupti/lib/");
      result.push_back(root + packages + "/nvidia/cu1*/lib/");
    }
  }
  return result;
}

// Finds every function; the name of the first that is missing, or null.
const char* find_functions(Cupti& table) {
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(table.library, symbol));
    if (function == nullptr && missing == nullptr) missing = symbol;
  };
  find(table.get_version, "cuptiGetVersion");
  find(table.get_timestamp, "cuptiGetTimestamp");
  find(table.get_result_string, "cuptiGetResultString");
  find(table.get_callback_name, "cuptiGetCallbackName");
  find(table.subscribe, "cuptiSubscribe");
  find(table.unsubscribe, "cuptiUnsubscribe");
  find(table.set_thread_id_type, "cuptiSetThreadIdType");
  find(table.enable, "cuptiActivityEnable");
  find(table.disable, "cuptiActivityDisable");
  find(table.register_callbacks, "cuptiActivityRegisterCallbacks");
  find(table.get_next_record, "cuptiActivityGetNextRecord");
  find(table.get_dropped, "cuptiActivityGetNumDroppedRecords");
  find(table.flush_all, "cuptiActivityFlushAll");
  find(table.push_external_id, "cuptiActivityPushExternalCorrelationId");
  find(table.pop_external_id, "cuptiActivityPopExternalCorrelationId");
  return missing;
}

void* open_first(const std::vector<std::string>& places) {
  for (const int loaded : {RTLD_NOLOAD, 0}) {
    for (const std::string& place : places) {
      if (void* library = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | loaded)) return library;
    }
  }
  return nullptr;
}

Cupti open() {
  Cupti table{};
  const std::vector<std::string> places = cupti_places();
  table.library = open_first(places);
  if (table.library == nullptr) {
    const std::string chosen = variable("RAFTER_CUPTI");
    throw runtime_failure({chosen.empty() ? "libcupti.so" : "RAFTER_CUPTI",
                           chosen.empty() ? "nowhere to be found" : "no library: " + in_quotes(chosen),
                           "CUDA's library for profilers", kRemedy});
  }
  const char* missing = find_functions(table);
  Dl_info about{};
  if (::dladdr(::dlsym(table.library, "cuptiGetVersion"), &about) != 0) table.path = about.dli_fname;
  if (missing != nullptr) {
    throw runtime_failure({in_quotes(table.path), std::string("without ") + missing, "CUPTI of CUDA 12 or newer", kRemedy});
  }
  table.check(table.get_version(&table.version), "asking CUPTI for its version");
  if (table.version < kOldest) {
    throw runtime_failure(
        {in_quotes(table.path) + ": its version", std::to_string(table.version), "19 (CUDA 12.0) or newer", kRemedy});
  }
  return table;
}

const char* remedy(CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "Another profiler holds CUPTI: run without nsys, ncu, cuda-gdb, compute-sanitizer or torch.profiler";
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return "Load the driver with NVreg_RestrictProfilingToAdminUsers=0, or give the program CAP_SYS_ADMIN";
    case CUPTI_ERROR_OUT_OF_MEMORY:
      return "Leave CUPTI some memory, on the host and on the GPU";
    default:
      return "";
  }
}

}  // namespace

void Cupti::check(CUptiResult result, const char* what) const {
  if (result == CUPTI_SUCCESS) return;
  const char* name = nullptr;
  if (get_result_string(result, &name) != CUPTI_SUCCESS || name == nullptr) name = "an error without a name";
  throw runtime_failure({what, fmt::format("not possible: {} ({})", name, static_cast<int>(result)), "", remedy(result)});
}

const Cupti& cupti() {
  static const Cupti table = open();
  return table;
}

std::vector<std::string> cupti_places() {
  if (const std::string chosen = variable("RAFTER_CUPTI"); !chosen.empty()) return {chosen};
  std::vector<std::string> names = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
  if (driver_major() == 12) names.erase(names.begin());
  std::vector<std::string> places = names;
  for (const std::string& folder : folders()) {
    for (const std::string& name : names) add_matches(places, folder + name);
  }
  return places;
}

}  // namespace rafter::cuda
