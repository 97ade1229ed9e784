// The measured roofs that verbs lay their times against.
#pragma once

#include <optional>
#include <string>

#include "rafter/machine/machine.h"

namespace rafter {

struct Roofs {
  std::optional<Machine> machine;
  std::string about;  // a line for standard error: how old they are, or that there are none, why, and how to get them
};

// Those of a device. A file that is broken is no reason to fail: there are none then.
Roofs known_roofs(DeviceId id);

// "measured 3 days ago", "quickly measured 2 hours ago".
std::string roofs_age(const Machine& machine);
// "run `rafter probe --device cpu`": what measures this device.
std::string how_to_probe(DeviceId id);

}  // namespace rafter
