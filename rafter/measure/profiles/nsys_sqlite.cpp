#include "rafter/measure/profiles/nsys_sqlite.h"

#include <algorithm>
#include <initializer_list>
#include <unordered_map>

#include "rafter/base/error.h"
#include "rafter/measure/profiles/kernel_name.h"
#include "rafter/measure/profiles/sqlite_file.h"
#include "rafter/measure/profiles/timeline.h"

namespace rafter {

namespace {

constexpr double kNanosecond = 1e-9;
constexpr const char* kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";

// Rows of a table by the names of its columns, of which any may be absent.
class Table {
 public:
  Table(const SqliteFile& file, const std::string& name, const std::vector<std::string>& columns)
      : columns_(columns), rows_(file, query(name, columns)) {}

  bool next() { return rows_.next(); }
  int find(std::string_view column) const {
    const auto found = std::find(columns_.begin(), columns_.end(), column);
    return found == columns_.end() ? -1 : static_cast<int>(found - columns_.begin());
  }
  std::optional<int64_t> integer(int column) const { return rows_.integer(column); }
  std::string text(int column) const { return rows_.text(column); }

 private:
  static std::string query(const std::string& name, const std::vector<std::string>& columns) {
    std::string list;
    for (const std::string& column : columns) {
      list += list.empty() ? "\"" : ", \"";
      for (const char c : column) list += c == '"' ? "\"\"" : std::string(1, c);
      list += '"';
    }
    return "SELECT " + list + " FROM " + name;
  }

  std::vector<std::string> columns_;
  SqliteRows rows_;
};

struct Times {
  int start, end, device, stream;
  explicit Times(const Table& table)
      : start(table.find("start")), end(table.find("end")), device(table.find("deviceId")), stream(table.find("streamId")) {}
};

class NsysReader {
 public:
  explicit NsysReader(const std::string& path) : file_(path), where_(in_quotes(path)) {
    profile_.path = path;
    profile_.kind = ProfileKind::nsys_sqlite;
  }

  Profile read() {
    const auto columns = file_.columns(kKernels);
    if (columns.empty()) refuse_no_kernels();
    for (const char* needed : {"start", "end"}) {
      if (std::find(columns.begin(), columns.end(), needed) == columns.end()) refuse_column(needed);
    }
    read_strings();
    read_device();
    read_kernels(columns);
    read_transfers("CUPTI_ACTIVITY_KIND_MEMCPY", profile_.copies);
    read_transfers("CUPTI_ACTIVITY_KIND_MEMSET", profile_.fills);
    place_on_timeline(profile_.kernels, std::move(activities_));
    return std::move(profile_);
  }

 private:
  [[noreturn]] void refuse_no_kernels() const {
    const bool is_nsys = !file_.columns("StringIds").empty() || !file_.columns("META_DATA_EXPORT").empty();
    throw input_error({where_,
                       fmt::format("{} without the table {}", is_nsys ? "an Nsight Systems database" : "a database", kKernels),
                       "an export of a run that launched kernels",
                       "profile with 'nsys profile --trace=cuda', then export with 'nsys export --type sqlite'"});
  }

  [[noreturn]] void refuse_column(const char* column) const {
    throw input_error({fmt::format("{}: the table {}", where_, kKernels), fmt::format("without the column '{}'", column),
                       "start and end of each kernel", "export it again with 'nsys export --type sqlite'"});
  }

  void read_strings() {
    const auto columns = file_.columns("StringIds");
    if (columns.empty()) return;
    Table table(file_, "StringIds", columns);
    const int id = table.find("id"), value = table.find("value");
    while (table.next()) {
      if (const auto key = table.integer(id)) strings_[*key] = table.text(value);
    }
  }

  void read_device() {
    const auto columns = file_.columns("TARGET_INFO_GPU");
    if (columns.empty()) return;
    Table table(file_, "TARGET_INFO_GPU", columns);
    if (table.next()) profile_.device = table.text(table.find("name"));
  }

  std::string string_of(std::optional<int64_t> id) const {
    const auto found = id ? strings_.find(*id) : strings_.end();
    return found == strings_.end() ? std::string() : found->second;
  }

  static std::optional<Dim3> dim3(const Table& table, const int (&columns)[3]) {
    Dim3 dim{};
    for (size_t axis = 0; axis < 3; ++axis) {
      const auto extent = table.integer(columns[axis]);
      if (!extent) return std::nullopt;
      dim[axis] = *extent;
    }
    return dim;
  }

  // Seconds, where it was timed: start and end are both 0 where it was not.
  Quantity place(const Table& table, const Times& times, int64_t kernel) {
    const auto start = table.integer(times.start), end = table.integer(times.end);
    if (!start || !end || *end <= *start) return std::nullopt;
    const double from = static_cast<double>(*start) * kNanosecond, to = static_cast<double>(*end) * kNanosecond;
    activities_.push_back({table.integer(times.device).value_or(0), table.integer(times.stream).value_or(0), from, to, kernel});
    return (static_cast<double>(*end) - static_cast<double>(*start)) * kNanosecond;
  }

  void read_kernels(const std::vector<std::string>& columns) {
    Table table(file_, kKernels, columns);
    const Times times(table);
    const int full = table.find("demangledName"), brief = table.find("shortName"), mangled = table.find("mangledName");
    const int grid[] = {table.find("gridX"), table.find("gridY"), table.find("gridZ")};
    const int block[] = {table.find("blockX"), table.find("blockY"), table.find("blockZ")};
    const int registers = table.find("registersPerThread"), local = table.find("localMemoryPerThread");
    const int node = table.find("graphNodeId");
    int64_t untimed = 0, unnamed = 0;
    while (table.next()) {
      KernelRecord kernel;
      std::string name;
      for (const int column : {full, brief, mangled}) {
        if (name.empty()) name = string_of(table.integer(column));
      }
      unnamed += name.empty() ? 1 : 0;
      names_.set(kernel, name.empty() ? "(unnamed)" : name);
      kernel.grid = dim3(table, grid);
      kernel.block = dim3(table, block);
      kernel.stream = table.integer(times.stream);
      kernel.device = table.integer(times.device);
      kernel.in_graph = table.integer(node).value_or(0) != 0;
      if (const auto count = table.integer(registers)) kernel.registers_per_thread = static_cast<double>(*count);
      if (const auto bytes = table.integer(local)) kernel.local_bytes_per_thread = static_cast<double>(*bytes);
      kernel.seconds = place(table, times, static_cast<int64_t>(profile_.kernels.size()));
      untimed += kernel.seconds ? 0 : 1;
      profile_.kernels.push_back(std::move(kernel));
    }
    if (profile_.kernels.empty()) refuse_no_kernels();
    if (untimed > 0)
      profile_.remarks.push_back(fmt::format("{}: {} kernels were not timed; their time is unknown.", where_, untimed));
    if (unnamed > 0) profile_.remarks.push_back(fmt::format("{}: {} kernels have no name in the database.", where_, unnamed));
  }

  void read_transfers(const std::string& name, Transfers& transfers) {
    const auto columns = file_.columns(name);
    if (columns.empty()) return;
    Table table(file_, name, columns);
    const Times times(table);
    const int bytes = table.find("bytes");
    while (table.next()) {
      ++transfers.count;
      transfers.seconds += place(table, times, -1).value_or(0);
      transfers.bytes += static_cast<double>(table.integer(bytes).value_or(0));
    }
  }

  SqliteFile file_;
  std::string where_;
  Profile profile_;
  KernelNames names_;
  std::unordered_map<int64_t, std::string> strings_;
  std::vector<Activity> activities_;
};

}  // namespace

Profile read_nsys_sqlite(const std::string& path) { return NsysReader(path).read(); }

}  // namespace rafter
