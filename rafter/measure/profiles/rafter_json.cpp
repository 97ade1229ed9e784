#include "rafter/measure/profiles/rafter_json.h"

#include <cmath>

#include "rafter/base/error.h"
#include "rafter/measure/profiles/json_stream.h"
#include "rafter/measure/profiles/kernel_name.h"

namespace rafter {

namespace {

using simdjson::dom::element;
using simdjson::dom::object;

std::string text_of(const object& from, std::string_view key) {
  std::string_view text;
  return from.at_key(key).get(text) == simdjson::SUCCESS ? clean_kernel_name(text) : std::string();
}

Quantity number_of(const object& from, std::string_view key) {
  double number = 0;
  return from.at_key(key).get(number) == simdjson::SUCCESS && std::isfinite(number) ? Quantity(number) : std::nullopt;
}

// A time, or an amount: 0 stands for unknown.
Quantity positive_of(const object& from, std::string_view key) {
  const Quantity number = number_of(from, key);
  return number && *number > 0 ? number : std::nullopt;
}

Quantity sum(const Quantity& a, const Quantity& b) { return a && b ? Quantity(*a + *b) : std::nullopt; }

// {"m": 1, "n": 960} as "m=1 n=960".
std::string shape_of(const object& row) {
  object axes;
  if (row.at_key("shape").get(axes) != simdjson::SUCCESS) return text_of(row, "shape");
  std::string out;
  for (const auto& [axis, extent] : axes) {
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", axis, simdjson::minify(extent));
  }
  return out;
}

KernelRecord row_kernel(const object& row) {
  KernelRecord kernel;
  kernel.op = text_of(row, "op");
  kernel.name = text_of(row, "impl");
  kernel.dtype = text_of(row, "dtype");
  kernel.shapes = shape_of(row);
  kernel.seconds = positive_of(row, "median_s");
  kernel.needed_bytes = number_of(row, "bytes");
  kernel.needed_flops = number_of(row, "flops");
  kernel.floor_seconds = positive_of(row, "floor_s");
  return kernel;
}

KernelRecord op_kernel(const object& op) {
  KernelRecord kernel;
  kernel.op = text_of(op, "name");
  kernel.name = text_of(op, "kernel");
  kernel.shapes = shape_of(op);
  kernel.seconds = positive_of(op, "time_s");
  kernel.needed_bytes = sum(number_of(op, "bytes_read"), number_of(op, "bytes_written"));
  kernel.needed_flops = number_of(op, "flops");
  kernel.floor_seconds = positive_of(op, "floor_s");
  return kernel;
}

class RafterReader {
 public:
  explicit RafterReader(const std::string& path) { profile_.path = path; }

  // The schema may come after the rows: both lists are read by their own names.
  Profile read(std::string_view json) {
    JsonStream stream(json, profile_.path);
    stream.read(
        {"rows", "ops"}, [&](std::string_view key, element value) { take_entry(key, value); },
        [&](std::string_view key, element value) { take_member(key, value); });
    check_schema();
    if (profile_.kernels.empty()) {
      throw input_error({in_quotes(profile_.path), "without a row", "rows of a bench, or ops of a trace",
                         "run the command that wrote it again"});
    }
    return std::move(profile_);
  }

 private:
  void take_member(std::string_view key, element value) {
    object fields;
    std::string_view text;
    if (key == "schema" && value.get(text) == simdjson::SUCCESS) schema_ = text;
    if (key == "machine" && value.get(fields) == simdjson::SUCCESS) profile_.device = text_of(fields, "name");
  }

  void take_entry(std::string_view key, element value) {
    object fields;
    if (value.get(fields) != simdjson::SUCCESS) return;
    KernelRecord kernel = key == "rows" ? row_kernel(fields) : op_kernel(fields);
    if (kernel.name.empty()) kernel.name = kernel.op;
    kernel.short_name = kernel.op.empty() ? kernel.name : kernel.op + ' ' + kernel.name;
    profile_.kernels.push_back(std::move(kernel));
  }

  void check_schema() {
    if (schema_ == "rafter.results/1") {
      profile_.kind = ProfileKind::rafter_results;
    } else if (schema_ == "rafter.trace/1") {
      profile_.kind = ProfileKind::rafter_trace;
    } else {
      const bool ours = schema_.starts_with("rafter.");
      throw input_error(
          {in_quotes(profile_.path), schema_.empty() ? "JSON without a schema" : "JSON of the schema " + in_quotes(schema_),
           "rafter.results/1 or rafter.trace/1",
           ours ? "use a version of rafter that knows it" : "write one with 'rafter bench --json' or 'rafter trace --json'"});
    }
  }

  Profile profile_;
  std::string schema_;
};

}  // namespace

Profile read_rafter_json(std::string_view json, const std::string& path) { return RafterReader(path).read(json); }

}  // namespace rafter
