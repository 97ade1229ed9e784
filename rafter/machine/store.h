// Where measured machines are kept: ~/.cache/rafter/machines/ID.json, one for each GPU and one for the CPU.
//
// The cache folder is $XDG_CACHE_HOME/rafter where that is an absolute path, else ~/.cache/rafter. ID is the device's
// uuid_hash, so a file that was measured on another GPU is never read for this one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "rafter/machine/machine.h"

namespace rafter {

std::filesystem::path machine_path(const DeviceInfo& device);

// Writes a file beside it and renames, so that a reader never meets half a machine.
void save_machine(const Machine& machine, const std::filesystem::path& path);
Machine load_machine(const std::filesystem::path& path);

// The machine of a device if it has been probed. An input Error where the file is there and is broken or of another device.
std::optional<Machine> known_machine(const DeviceInfo& device);

// "measured 3 days ago", from its date and `now` (seconds since 1970); "measured at an unknown time".
std::string age_text(const Machine& machine, int64_t now);

std::string utc_date(int64_t seconds_since_1970);  // "2026-01-31T12:00:00Z"

}  // namespace rafter
