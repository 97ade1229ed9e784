// The measured roofs that verbs lay their times against.
#pragma once

#include <optional>

#include "rafter/machine/machine.h"

namespace rafter {

// The device's machine, with one line on standard error: how old it is, or that there is none and how to get one. A file that
// is broken is said so and is no reason to fail.
std::optional<Machine> known_roofs(DeviceId id);

// "measured 3 days ago", "quickly measured 2 hours ago".
std::string roofs_age(const Machine& machine);
// "run `rafter probe --device cpu`": what measures this device.
std::string how_to_probe(DeviceId id);

}  // namespace rafter
