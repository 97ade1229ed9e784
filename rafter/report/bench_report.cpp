#include "rafter/report/bench_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "rafter/base/statistics.h"
#include "rafter/base/units.h"
#include "rafter/report/build_info.h"

namespace rafter {

namespace {

Statistics rates(const BenchResult& result) {
  std::vector<double> rates;
  for (const double seconds : result.seconds) rates.push_back(result.tokens() / seconds);
  return summarise(rates);
}

// Of the median step.
std::optional<double> fraction(const BenchResult& result) {
  if (!result.floor) return {};
  return result.floor->fraction_of(summarise(result.seconds).median / static_cast<double>(result.steps()));
}

}  // namespace

BenchSubject subject_of(const Engine& engine, int threads) {
  const Checkpoint& checkpoint = engine.checkpoint();
  return {engine.config().name,
          checkpoint.dtype(),
          checkpoint.weight_bytes(),
          engine.config().parameters(),
          engine.options().device,
          engine.options().executor,
          threads};
}

Table bench_table(const BenchSubject& subject, std::span<const BenchResult> results) {
  const bool cpu = subject.device.kind == DeviceKind::cpu;
  const bool batched = std::any_of(results.begin(), results.end(), [](const BenchResult& r) { return r.batch != 1; });
  std::vector<Column> columns = {{"model"}, {"size", Align::right}, {"params", Align::right}, {"backend"}};
  columns.push_back(cpu ? Column{"threads", Align::right} : Column{"executor"});
  if (batched) columns.push_back({"batch", Align::right});
  columns.push_back({"test", Align::right});
  columns.push_back({"t/s", Align::right});
  columns.push_back({"% of roof", Align::right});
  Table table(columns);
  for (const BenchResult& result : results) {
    const Statistics rate = rates(result);
    std::vector<std::string> cells = {
        fmt::format("{} {}", subject.model, name(subject.dtype)), format_capacity(subject.weight_bytes),
        fmt::format("{:.2f} M", static_cast<double>(subject.parameters) / 1e6), to_string(subject.device)};
    cells.push_back(cpu ? std::to_string(subject.threads) : std::string(name(subject.executor)));
    if (batched) cells.push_back(std::to_string(result.batch));
    cells.push_back(name(result.test));
    cells.push_back(fmt::format("{:.2f}", rate.mean) + (rate.samples > 1 ? fmt::format(" ± {:.2f}", rate.sigma) : ""));
    const auto reached = fraction(result);
    cells.push_back(reached ? fmt::format("{:.1f}", 100 * *reached) : "-");
    table.add(std::move(cells));
  }
  return table;
}

Table bench_csv(const BenchSubject& subject, std::span<const BenchResult> results) {
  std::vector<Column> columns;
  for (const char* title :
       {"build_commit", "backends", "model_type", "model_size", "model_n_params", "n_threads", "executor", "batch", "test",
        "n_prompt", "n_gen", "n_depth", "avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "fraction"}) {
    columns.push_back({title});
  }
  Table table(columns);
  const bool cpu = subject.device.kind == DeviceKind::cpu;
  for (const BenchResult& result : results) {
    const bool decode = result.test.kind == BenchKind::decode;
    const Statistics seconds = summarise(result.seconds), rate = rates(result);
    const auto spread = [](const Statistics& s, double scale) {
      return s.samples > 1 ? fmt::format("{:.6f}", s.sigma * scale) : std::string();
    };
    const auto reached = fraction(result);
    table.add(
        {std::string(build_info().commit), to_string(subject.device), fmt::format("{} {}", subject.model, name(subject.dtype)),
         std::to_string(subject.weight_bytes), std::to_string(subject.parameters), cpu ? std::to_string(subject.threads) : "",
         std::string(name(decode ? subject.executor : ExecutorKind::eager)), std::to_string(result.batch), name(result.test),
         std::to_string(decode ? 0 : result.test.tokens), std::to_string(decode ? result.test.tokens : 0),
         std::to_string(result.test.depth), fmt::format("{:.0f}", seconds.mean * 1e9), spread(seconds, 1e9),
         fmt::format("{:.6f}", rate.mean), spread(rate, 1), reached ? fmt::format("{:.6f}", *reached) : ""});
  }
  return table;
}

std::vector<ResultRow> bench_rows(const BenchSubject& subject, std::span<const BenchResult> results) {
  std::vector<ResultRow> rows;
  for (const BenchResult& result : results) {
    const bool decode = result.test.kind == BenchKind::decode;
    const auto steps = static_cast<double>(result.steps());
    const Statistics seconds = summarise(result.seconds);
    ResultRow row;
    row.op = decode ? "decode_step" : "prefill_step";
    row.impl = "rafter";
    row.dtype = name(subject.dtype);
    row.shape = {{"tokens", result.test.tokens}, {"depth", result.test.depth}, {"batch", result.batch}};
    row.median_s = seconds.median / steps;
    row.iqr_s = seconds.iqr / steps;
    row.samples = seconds.samples;
    row.bytes = result.cost.bytes() / steps;
    row.flops = result.cost.flops() / steps;
    if (result.floor) row.floor_s = result.floor->seconds;
    row.fraction = fraction(result);
    row.model = subject.model;
    row.executor = name(decode ? subject.executor : ExecutorKind::eager);
    row.batch = result.batch;
    row.context = result.test.depth;
    if (seconds.median > 0) row.tokens_per_s = result.tokens() / seconds.median;
    row.tokens_per_s_sigma = rates(result).sigma;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace rafter
