#include "rafter/measure/profiles/pytorch_trace.h"

#include <charconv>
#include <cmath>
#include <initializer_list>
#include <unordered_map>

#include "rafter/base/error.h"
#include "rafter/measure/profiles/framework_op.h"
#include "rafter/measure/profiles/json_stream.h"
#include "rafter/measure/profiles/kernel_name.h"
#include "rafter/measure/profiles/timeline.h"

namespace rafter {

namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr double kMicrosecond = 1e-6;

// The value of the first key that is there: the names of arguments changed their case between versions.
std::optional<element> find(const object& from, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    element value;
    if (from.at_key(key).get(value) == simdjson::SUCCESS && !value.is_null()) return value;
  }
  return std::nullopt;
}

std::string_view text_of(const object& from, std::initializer_list<std::string_view> keys) {
  const auto value = find(from, keys);
  std::string_view text;
  return value && value->get(text) == simdjson::SUCCESS ? text : std::string_view();
}

std::optional<double> number_of(const object& from, std::initializer_list<std::string_view> keys) {
  const auto value = find(from, keys);
  double number = 0;
  return value && value->get(number) == simdjson::SUCCESS && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

// Some versions write numbers as text.
std::optional<int64_t> integer_of(const object& from, std::initializer_list<std::string_view> keys) {
  const auto value = find(from, keys);
  if (!value) return std::nullopt;
  int64_t number = 0;
  if (value->get(number) == simdjson::SUCCESS) return number;
  std::string_view text;
  if (value->get(text) != simdjson::SUCCESS) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<Dim3> dim3_of(const object& from, std::string_view key) {
  array list;
  if (from.at_key(key).get(list) != simdjson::SUCCESS || list.size() != 3) return std::nullopt;
  Dim3 dim{};
  size_t axis = 0;
  for (const element value : list) {
    if (value.get(dim[axis++]) != simdjson::SUCCESS) return std::nullopt;
  }
  return dim;
}

// [[4096, 576], [576, 960], []] as "[4096, 576] x [576, 960]"; scalars, which have no extents, are left out.
std::string shapes_of(const object& arguments) {
  const auto value = find(arguments, {"Input Dims", "Input dims"});
  array inputs;
  if (!value || value->get(inputs) != simdjson::SUCCESS) return {};
  std::string out;
  for (const element input : inputs) {
    array extents;
    if (input.get(extents) != simdjson::SUCCESS || extents.size() == 0) continue;
    if (!out.empty()) out += " x ";
    out += simdjson::minify(input);
  }
  return out;
}

// Extents that are none become one that no tensor has.
Extents extents_of(const element& value) {
  Extents extents;
  array list;
  if (value.get(list) != simdjson::SUCCESS) return {-1};
  for (const element item : list) {
    int64_t extent = 0;
    if (item.get(extent) != simdjson::SUCCESS) return {-1};
    extents.push_back(extent);
  }
  return extents;
}

// [[2, 3], [4, 3]], where a tensor has [2, 3]: the extents of a list of tensors.
std::vector<Extents> list_of_extents(const element& value) {
  std::vector<Extents> all;
  array list;
  if (value.get(list) != simdjson::SUCCESS) return all;
  for (const element item : list) {
    if (!item.is_array()) return {};
    all.push_back(extents_of(item));
  }
  return all;
}

std::vector<element> entries(const object& arguments, std::initializer_list<std::string_view> keys) {
  const auto value = find(arguments, keys);
  array list;
  if (!value || value->get(list) != simdjson::SUCCESS) return {};
  return {list.begin(), list.end()};
}

std::string text_at(const std::vector<element>& list, size_t i) {
  std::string_view text;
  return i < list.size() && list[i].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

std::vector<RecordedInput> inputs_of(const object& arguments) {
  const auto dims = entries(arguments, {"Input Dims", "Input dims"}), strides = entries(arguments, {"Input Strides"});
  const auto types = entries(arguments, {"Input type"}), values = entries(arguments, {"Concrete Inputs"});
  std::vector<RecordedInput> inputs(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    RecordedInput& input = inputs[i];
    input.type = text_at(types, i);
    input.value = text_at(values, i);
    const std::vector<Extents> list = list_of_extents(dims[i]);
    const std::vector<Extents> list_strides = i < strides.size() ? list_of_extents(strides[i]) : std::vector<Extents>();
    for (size_t j = 0; j < list.size(); ++j)
      input.list.push_back({list[j], j < list_strides.size() ? list_strides[j] : Extents()});
    if (list.empty()) input.tensor = {extents_of(dims[i]), i < strides.size() ? extents_of(strides[i]) : Extents()};
  }
  return inputs;
}

// Of the first input that has one: "c10::BFloat16", "float".
std::string dtype_of(const object& arguments) {
  const auto value = find(arguments, {"Input type"});
  array types;
  if (!value || value->get(types) != simdjson::SUCCESS) return {};
  for (const element type : types) {
    std::string_view text;
    if (type.get(text) != simdjson::SUCCESS) continue;
    if (std::string dtype = dtype_in_kernel_name(text); !dtype.empty()) return dtype;
  }
  return {};
}

struct OpInfo {
  std::string name, shapes, dtype;
  std::optional<OpNeeds> needs;
  size_t longest = 0;  // of its kernels
  int64_t kernels = 0;
};

class TraceReader {
 public:
  explicit TraceReader(const std::string& path) {
    profile_.path = path;
    profile_.kind = ProfileKind::pytorch_trace;
  }

  Profile read(std::string_view json) {
    JsonStream stream(json, profile_.path);
    stream.read(
        {"traceEvents"}, [&](std::string_view, element value) { take_event(value); },
        [&](std::string_view key, element value) { take_member(key, value); });
    if (profile_.kernels.empty()) refuse_no_kernel();
    join_ops();
    place_on_timeline(profile_.kernels, std::move(activities_));
    remark();
    return std::move(profile_);
  }

 private:
  void take_member(std::string_view key, element value) {
    object fields;
    if (key == "distributedInfo" && value.get(fields) == simdjson::SUCCESS) {
      profile_.rank = integer_of(fields, {"rank"});
      profile_.world_size = integer_of(fields, {"world_size"});
    }
    array devices;
    if (key == "deviceProperties" && value.get(devices) == simdjson::SUCCESS) {
      for (const element device : devices) {
        if (device.get(fields) == simdjson::SUCCESS && profile_.device.empty()) profile_.device = text_of(fields, {"name"});
      }
    }
  }

  void take_event(element value) {
    object event, arguments;
    if (value.get(event) != simdjson::SUCCESS) return;
    ++events_;
    const std::string_view category = text_of(event, {"cat"});
    if (category.empty() || text_of(event, {"ph"}) != "X") return;
    const bool has_arguments = event.at_key("args").get(arguments) == simdjson::SUCCESS;
    const object& details = has_arguments ? arguments : event;
    if (category == "kernel" || category == "Kernel") {
      take_kernel(event, details);
    } else if (category == "gpu_memcpy" || category == "Memcpy") {
      take_transfer(event, details, profile_.copies);
    } else if (category == "gpu_memset" || category == "Memset") {
      take_transfer(event, details, profile_.fills);
    } else if (category == "cpu_op" || category == "Operator") {
      take_op(event, details);
    } else if (category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime") {
      const auto correlation = integer_of(details, {"correlation"});
      const auto id = integer_of(details, {"External id", "external id"});
      if (correlation && id) op_of_correlation_[*correlation] = *id;
    }
  }

  void take_op(const object& event, const object& arguments) {
    const auto id = integer_of(arguments, {"External id", "external id"});
    if (!id) return;
    const std::string_view name = text_of(event, {"name"});
    ops_.try_emplace(
        *id, OpInfo{clean_kernel_name(name), shapes_of(arguments), dtype_of(arguments), needs_of(name, inputs_of(arguments))});
  }

  void take_kernel(const object& event, const object& arguments) {
    KernelRecord kernel;
    names_.set(kernel, text_of(event, {"name"}));
    kernel.grid = dim3_of(arguments, "grid");
    kernel.block = dim3_of(arguments, "block");
    kernel.stream = integer_of(arguments, {"stream"});
    kernel.device = integer_of(arguments, {"device"});
    kernel.registers_per_thread = number_of(arguments, {"registers per thread"});
    kernel.in_graph = integer_of(arguments, {"graph node id"}).value_or(0) > 0;
    kernel.seconds = seconds_of(event);
    place(event, arguments, static_cast<int64_t>(profile_.kernels.size()));
    external_ids_.push_back(integer_of(arguments, {"External id", "external id"}).value_or(0));
    correlations_.push_back(integer_of(arguments, {"correlation"}).value_or(0));
    profile_.kernels.push_back(std::move(kernel));
  }

  void take_transfer(const object& event, const object& arguments, Transfers& transfers) {
    ++transfers.count;
    transfers.seconds += seconds_of(event).value_or(0);
    transfers.bytes += number_of(arguments, {"bytes"}).value_or(0);
    place(event, arguments, -1);
  }

  static Quantity seconds_of(const object& event) {
    const auto duration = number_of(event, {"dur"});
    return duration && *duration > 0 ? Quantity(*duration * kMicrosecond) : std::nullopt;
  }

  // What was not timed is on no timeline: its start is no start.
  void place(const object& event, const object& arguments, int64_t kernel) {
    const auto start = number_of(event, {"ts"});
    const Quantity seconds = seconds_of(event);
    if (!start || !seconds) return;
    activities_.push_back({integer_of(arguments, {"device"}).value_or(0), integer_of(arguments, {"stream"}).value_or(0),
                           *start * kMicrosecond, *start * kMicrosecond + *seconds, kernel});
  }

  OpInfo* op_of_kernel(size_t i) {
    auto op = ops_.find(external_ids_[i]);
    if (op == ops_.end()) {
      const auto call = op_of_correlation_.find(correlations_[i]);
      if (call != op_of_correlation_.end()) op = ops_.find(call->second);
    }
    return op == ops_.end() ? nullptr : &op->second;
  }

  void join_ops() {
    for (size_t i = 0; i < profile_.kernels.size(); ++i) {
      OpInfo* const op = op_of_kernel(i);
      if (op == nullptr) continue;
      KernelRecord& kernel = profile_.kernels[i];
      kernel.op = op->name;
      kernel.shapes = op->shapes;
      if (kernel.dtype.empty()) kernel.dtype = op->dtype;
      if (op->kernels++ == 0 || kernel.seconds > profile_.kernels[op->longest].seconds) op->longest = i;
    }
    for (const auto& [id, op] : ops_) {
      if (op.kernels > 0 && op.needs) set_needs(profile_.kernels[op.longest], *op.needs);
    }
  }

  static void set_needs(KernelRecord& kernel, const OpNeeds& needs) {
    const Quantity element_bytes = needs.untyped_elements > 0 ? opaque_element_bytes(kernel.name) : Quantity(0);
    if (!element_bytes) return;
    // A kernel's name may be that of a family of several types; but f32 may run as tf32, and then the name says so.
    if (!needs.dtype.empty() && needs.dtype != "f32") kernel.dtype = needs.dtype;
    kernel.needed_flops = needs.flops;
    kernel.needed_bytes = needs.bytes + needs.untyped_elements * *element_bytes;
  }

  [[noreturn]] void refuse_no_kernel() const {
    throw input_error(
        {in_quotes(profile_.path),
         events_ == 0 ? "JSON without a trace event" : fmt::format("a trace of {} events without a GPU kernel", events_),
         "a PyTorch trace with events of category \"kernel\", or JSON of rafter bench or trace",
         "profile with ProfilerActivity.CUDA on a machine with a GPU"});
  }

  void remark() {
    const std::string where = in_quotes(profile_.path);
    if (profile_.rank && profile_.world_size.value_or(1) > 1) {
      profile_.remarks.push_back(fmt::format("{}: rank {} of {}; the other ranks have files of their own.", where,
                                             *profile_.rank, *profile_.world_size));
    }
    int64_t untimed = 0, with_op = 0, with_shapes = 0;
    for (const KernelRecord& kernel : profile_.kernels) {
      untimed += kernel.seconds ? 0 : 1;
      with_op += kernel.op.empty() ? 0 : 1;
      with_shapes += kernel.shapes.empty() ? 0 : 1;
    }
    if (untimed > 0)
      profile_.remarks.push_back(fmt::format("{}: {} kernels without a duration; their time is unknown.", where, untimed));
    if (with_op > 0 && with_shapes == 0) {
      profile_.remarks.push_back(where + ": no op has shapes; profile with record_shapes=True to have them.");
    }
  }

  Profile profile_;
  KernelNames names_;
  int64_t events_ = 0;
  std::vector<Activity> activities_;
  std::vector<int64_t> external_ids_, correlations_;  // of each kernel; 0 where it has none
  std::unordered_map<int64_t, OpInfo> ops_;           // by external id
  std::unordered_map<int64_t, int64_t> op_of_correlation_;
};

}  // namespace

Profile read_pytorch_trace(std::string_view json, const std::string& path) { return TraceReader(path).read(json); }

}  // namespace rafter
