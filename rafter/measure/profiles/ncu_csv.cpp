#include "rafter/measure/profiles/ncu_csv.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <unordered_map>

#include "rafter/base/error.h"
#include "rafter/measure/profiles/csv_text.h"
#include "rafter/measure/profiles/kernel_name.h"
#include "rafter/measure/profiles/locale_number.h"
#include "rafter/measure/profiles/ncu_metrics.h"

namespace rafter {

namespace {

constexpr size_t kNone = std::string_view::npos;

// A metric of one kernel as the file has it: read when all cells were seen, and it is known how this file writes numbers.
struct MetricCell {
  std::string metric, unit, value;
};

struct KernelCells {
  KernelRecord kernel;
  std::vector<MetricCell> metrics;
};

// The line of titles, and which column is what.
struct Titles {
  std::vector<std::string> names;
  std::vector<std::string> units;  // raw page: of each column, from the row below or from "name [unit]"
  char delimiter = ',';
  bool quoted = false;
  size_t kernel = kNone, id = kNone, process = kNone, stream = kNone, device = kNone, block = kNone, grid = kNone;
  size_t metric = kNone, unit = kNone, value = kNone, launches = kNone;

  bool is_raw() const { return metric == kNone; }
};

bool is_kernel_title(std::string_view title) { return title == "Kernel Name" || title == "Function Name"; }

char delimiter_of(std::string_view line) {
  char best = ',';
  for (const char c : {';', '\t'}) {
    if (std::count(line.begin(), line.end(), c) > std::count(line.begin(), line.end(), best)) best = c;
  }
  return best;
}

bool may_be_titles(std::string_view line) {
  return (line.find("Kernel Name") != kNone || line.find("Function Name") != kNone) && line.find_first_of(",;\t") != kNone &&
         !line.starts_with("==");
}

// "gpu__time_duration.sum [ns]" as the graphical tool exports it: name and unit.
void take_unit_out(std::string& name, std::string& unit) {
  const size_t open = name.rfind(" [");
  if (open == kNone || !name.ends_with(']')) return;
  unit = name.substr(open + 2, name.size() - open - 3);
  name.resize(open);
}

std::optional<Titles> titles_of(const CsvRecord& record, char delimiter, bool quoted) {
  Titles titles;
  titles.delimiter = delimiter;
  titles.quoted = quoted;
  titles.units.resize(record.cells.size());
  for (size_t i = 0; i < record.cells.size(); ++i) {
    std::string name = record.cells[i].text;
    take_unit_out(name, titles.units[i]);
    size_t* slot = is_kernel_title(name)                         ? &titles.kernel
                   : name == "ID"                                ? &titles.id
                   : name == "Process ID"                        ? &titles.process
                   : name == "Stream"                            ? &titles.stream
                   : name == "Device"                            ? &titles.device
                   : name == "Block Size"                        ? &titles.block
                   : name == "Grid Size"                         ? &titles.grid
                   : name == "Metric Name"                       ? &titles.metric
                   : name == "Metric Unit"                       ? &titles.unit
                   : name == "Metric Value" || name == "Average" ? &titles.value
                   : name == "Invocations"                       ? &titles.launches
                                                                 : nullptr;
    if (slot != nullptr && *slot == kNone) *slot = i;
    titles.names.push_back(std::move(name));
  }
  if (titles.kernel == kNone) return std::nullopt;
  if (titles.metric != kNone && (titles.value == kNone || titles.unit == kNone)) return std::nullopt;
  return titles;
}

// "(256, 1, 1)" or "256,1,1".
std::optional<Dim3> parse_dim3(std::string_view text) {
  Dim3 dim{};
  size_t axis = 0;
  while (axis < 3) {
    while (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0) text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dim[axis]);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    ++axis;
  }
  return dim;
}

std::optional<int64_t> parse_integer(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

class NcuCsvReader {
 public:
  NcuCsvReader(std::string_view text, const std::string& path) : csv_(text, path), where_(in_quotes(path)) {
    profile_.path = path;
    profile_.kind = ProfileKind::ncu_csv;
  }

  Profile read() {
    while (!csv_.at_end()) {
      if (!take_titles() && !take_row()) pass_over_line();
    }
    if (!titles_) {
      throw input_error({where_ + ": line 1", "not the titles of an Nsight Compute table, and no other line is",
                         "a line with \"Kernel Name\"", "export it with 'ncu --import FILE --page raw --csv'"});
    }
    if (kernels_.empty()) {
      throw input_error({fmt::format("{}: the table after line {}", where_, titles_line_), "without a row",
                         "a row for each kernel",
                         "see that the profiled program launched a kernel that the filter let through"});
    }
    convert();
    return std::move(profile_);
  }

 private:
  bool take_titles() {
    const std::string_view line = csv_.rest_of_line();
    if (!may_be_titles(line)) return false;
    CsvText ahead = csv_;
    const char delimiter = delimiter_of(line);
    const CsvRecord record = ahead.read(delimiter);
    auto titles = titles_of(record, delimiter, line.starts_with('"'));
    if (!titles) return false;
    titles_ = std::move(titles);
    titles_line_ = record.line;
    csv_ = ahead;
    return true;
  }

  // Where in its line a row begins. With numbered rows that is at "12","..., which a program's output without a line break
  // may stand before; the row of units has an empty number.
  std::optional<size_t> start_of_row(std::string_view line) const {
    if (!titles_ || line.starts_with("==")) return std::nullopt;
    if (!titles_->quoted) return line.find(titles_->delimiter) == kNone ? std::nullopt : std::optional<size_t>(0);
    if (titles_->id != 0) return line.starts_with('"') ? std::optional<size_t>(0) : std::nullopt;
    const char after_number[] = {'"', titles_->delimiter, '"'};
    for (size_t at = line.find('"'); at != kNone; at = line.find('"', at + 1)) {
      size_t end = at + 1;
      while (end < line.size() && std::isdigit(static_cast<unsigned char>(line[end])) != 0) ++end;
      const bool numbered = end > at + 1 || at == 0;
      if (numbered && line.substr(end, 3) == std::string_view(after_number, 3)) return at;
    }
    return std::nullopt;
  }

  bool take_row() {
    const auto start = start_of_row(csv_.rest_of_line());
    if (!start) return false;
    csv_.skip(*start);
    const CsvRecord record = csv_.read(titles_->delimiter);
    if (record.cells.size() == 1) {  // a line of the program that happens to begin with a quote
      ++passed_over_;
      return true;
    }
    check_length(record);
    if (titles_->is_raw()) {
      take_kernel(record);
    } else {
      take_metric(record);
    }
    return true;
  }

  // Older versions leave out the last cells of a rule's row. What is missing otherwise was cut off.
  void check_length(const CsvRecord& record) const {
    const size_t have = record.cells.size(), want = titles_->names.size();
    const bool enough = titles_->is_raw() || !record.complete ? have >= want : have > std::max(titles_->kernel, titles_->value);
    const bool ends_in_cell = record.complete || record.cells.back().quoted == titles_->quoted;
    if (!enough || !ends_in_cell) refuse_cut(record.line, record.cells.back().column, have);
  }

  [[noreturn]] void refuse_cut(size_t line, size_t column, size_t cells) const {
    throw input_error({fmt::format("{}: the row at line {}", where_, line),
                       fmt::format("cut off in its cell {}, at column {}", cells, column),
                       fmt::format("{} cells, as the titles at line {} have", titles_->names.size(), titles_line_),
                       "export the file again"});
  }

  void pass_over_line() {
    const std::string_view line = csv_.rest_of_line();
    const size_t number = csv_.line();
    const bool blank = line.find_first_not_of(" \t\r") == kNone;
    csv_.skip_line();
    // The last line, without a break, that begins as a row does.
    if (titles_ && titles_->quoted && csv_.at_end() && csv_.line() == number && line.starts_with('"')) refuse_cut(number, 1, 1);
    if (titles_ && !blank && !line.starts_with("==")) ++passed_over_;
  }

  static std::string_view cell(const CsvRecord& record, size_t column) {
    return column < record.cells.size() ? std::string_view(record.cells[column].text) : std::string_view();
  }

  KernelCells& add_kernel(const CsvRecord& record) {
    KernelRecord kernel;
    names_.set(kernel, cell(record, titles_->kernel));
    kernel.grid = parse_dim3(cell(record, titles_->grid));
    kernel.block = parse_dim3(cell(record, titles_->block));
    kernel.stream = parse_integer(cell(record, titles_->stream));
    kernel.device = parse_integer(cell(record, titles_->device));
    kernel.launches = std::max<int64_t>(1, parse_integer(cell(record, titles_->launches)).value_or(1));
    kernels_.push_back({std::move(kernel), {}});
    return kernels_.back();
  }

  void take_kernel(const CsvRecord& record) {
    if (cell(record, titles_->kernel).empty()) {  // the row of units
      for (size_t i = 0; i < titles_->units.size(); ++i) titles_->units[i] = cell(record, i);
      return;
    }
    KernelCells& kernel = add_kernel(record);
    for (size_t i = 0; i < titles_->names.size(); ++i) {
      // Numbers of a column that nobody asks for still tell how this file writes them.
      if (titles_->names[i].find("__") == kNone && !is_wanted_metric(titles_->names[i])) continue;
      take_value(kernel, titles_->names[i], titles_->units[i], record.cells[i].text);
    }
  }

  void take_metric(const CsvRecord& record) {
    // A row of nothing but a rule has no metric; a kernel that has only those is still a kernel.
    std::string key;
    for (const size_t column : {titles_->id, titles_->process, titles_->kernel, titles_->block, titles_->grid}) {
      key += std::string(cell(record, column)) + '\n';
    }
    const auto [found, is_new] = place_.try_emplace(key, kernels_.size());
    KernelCells& kernel = is_new ? add_kernel(record) : kernels_[found->second];
    take_value(kernel, cell(record, titles_->metric), cell(record, titles_->unit), cell(record, titles_->value));
  }

  void take_value(KernelCells& kernel, std::string_view metric, std::string_view unit, std::string_view value) {
    style_.see(value);
    if (is_wanted_metric(metric)) kernel.metrics.push_back({std::string(metric), std::string(unit), std::string(value)});
  }

  void convert() {
    for (KernelCells& cells : kernels_) {
      NcuMetrics metrics;
      for (const MetricCell& cell : cells.metrics) {
        const auto value = style_.parse(cell.value);
        if (!value) continue;
        const MetricUnit unit = parse_metric_unit(cell.unit).value_or(MetricUnit{Dimension::other, 1});
        metrics.try_emplace(metric_key(cell.metric, unit.dimension), MetricValue{*value * unit.scale, unit.dimension});
      }
      apply_metrics(metrics, cells.kernel);
      // A summary has averages over a kernel's launches, a record has totals.
      scale_totals(cells.kernel, static_cast<double>(cells.kernel.launches));
      profile_.kernels.push_back(std::move(cells.kernel));
    }
    remark();
  }

  void remark() {
    if (passed_over_ > 0) {
      profile_.remarks.push_back(
          fmt::format("{}: {} line{} of other output passed over.", where_, passed_over_, passed_over_ == 1 ? "" : "s"));
    }
    if (style_.is_guess()) {
      profile_.remarks.push_back(
          fmt::format("{}: '{}' can be read two ways and no other number tells which: commas are taken to group thousands.",
                      where_, printable(style_.ambiguous_cell())));
    }
    const auto timed = std::count_if(profile_.kernels.begin(), profile_.kernels.end(),
                                     [](const KernelRecord& k) { return k.seconds.has_value(); });
    if (timed == 0) {
      profile_.remarks.push_back(where_ +
                                 ": no kernel has a time; collect gpu__time_duration.sum, or the section SpeedOfLight.");
    }
  }

  CsvText csv_;
  std::string where_;
  Profile profile_;
  std::optional<Titles> titles_;
  size_t titles_line_ = 0;
  int64_t passed_over_ = 0;
  std::vector<KernelCells> kernels_;
  KernelNames names_;
  std::unordered_map<std::string, size_t> place_;  // of a kernel of the details page in kernels_
  NumberStyle style_;
};

}  // namespace

bool looks_like_ncu_csv(std::string_view text) {
  text = text.substr(0, size_t{1} << 20);
  const bool named = text.find("Kernel Name") != kNone || text.find("Function Name") != kNone;
  return named || text.starts_with("==PROF==") || text.starts_with("\xff\xfe\"");
}

Profile read_ncu_csv(std::string_view text, const std::string& path) { return NcuCsvReader(text, path).read(); }

}  // namespace rafter
