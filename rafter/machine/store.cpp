#include "rafter/machine/store.h"

#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

#include "rafter/base/error.h"
#include "rafter/base/units.h"

namespace rafter {

namespace fs = std::filesystem;

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path cache_folder() {
  if (const std::string xdg = variable("XDG_CACHE_HOME"); xdg.starts_with('/')) return fs::path(xdg) / "rafter";
  const std::string home = variable("HOME");
  if (home.empty())
    throw input_error({"the cache folder", "unknown: HOME is not set", {}, "set HOME or XDG_CACHE_HOME to a folder"});
  return fs::path(home) / ".cache" / "rafter";
}

std::optional<int64_t> seconds_of(const std::string& date) {
  std::tm fields{};
  const char* end = ::strptime(date.c_str(), "%Y-%m-%dT%H:%M:%SZ", &fields);
  if (end == nullptr || *end != '\0') return {};
  return static_cast<int64_t>(::timegm(&fields));
}

constexpr int64_t kLargest = int64_t{8} << 20;  // of a machine file; a real one has some 200 KB

}  // namespace

fs::path machine_path(const DeviceInfo& device) { return cache_folder() / "machines" / (device.uuid_hash + ".json"); }

void save_machine(const Machine& machine, const fs::path& path) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (error)
    throw runtime_failure(
        {"the folder " + in_quotes(path.parent_path().string()), "missing and cannot be made: " + error.message()});
  const fs::path beside = fmt::format("{}.{}.new", path.string(), ::getpid());  // two that save at once have one each
  {
    std::ofstream out(beside, std::ios::binary);
    out << machine_json(machine);
    out.flush();
    if (!out) {
      fs::remove(beside, error);
      throw runtime_failure({"the file " + in_quotes(beside.string()), "not writable", {}, "check the folder and the disk"});
    }
  }
  fs::rename(beside, path, error);
  if (!error) return;
  std::error_code ignored;
  fs::remove(beside, ignored);
  throw runtime_failure({"the file " + in_quotes(path.string()), "there and cannot be replaced: " + error.message()});
}

Machine load_machine(const fs::path& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status))
    throw input_error({in_quotes(path.string()), "missing", "a machine file", "`rafter probe` writes one"});
  if (!fs::is_regular_file(status))
    throw input_error({in_quotes(path.string()), "no file", "a machine file (rafter.machine/1)"});
  const auto bytes = static_cast<int64_t>(fs::file_size(path, error));
  if (error || bytes > kLargest) {
    throw input_error(
        {in_quotes(path.string()), fmt::format("{} bytes long", bytes), "a machine file (rafter.machine/1), at most 8 MiB"});
  }
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw input_error({in_quotes(path.string()), "not readable"});
  return read_machine(text.str(), printable(path.filename().string(), 200));
}

std::optional<Machine> known_machine(const DeviceInfo& device) {
  const fs::path path = machine_path(device);
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  Machine machine = load_machine(path);
  if (machine.device.uuid_hash != device.uuid_hash) {
    throw input_error({in_quotes(path.string()), "of another device: " + in_quotes(machine.device.uuid_hash, 40),
                       in_quotes(device.uuid_hash), "`rafter probe` measures this one and writes over it"});
  }
  return machine;
}

std::string age_text(const Machine& machine, int64_t now) {
  const auto then = seconds_of(machine.date);
  if (!then) return "measured at an unknown time";
  const int64_t age = now - *then;
  if (age < 0) return "measured on " + machine.date.substr(0, 10) + ", which is in the future";
  if (age < 3600) return "measured " + counted(age / 60, "minute") + " ago";
  if (age < 2 * 86400) return "measured " + counted(age / 3600, "hour") + " ago";
  return "measured " + counted(age / 86400, "day") + " ago";
}

std::string utc_date(int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm fields{};
  ::gmtime_r(&time, &fields);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &fields)};
}

}  // namespace rafter
