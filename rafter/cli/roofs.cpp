#include "rafter/cli/roofs.h"

#include <ctime>

#include "rafter/base/error.h"
#include "rafter/machine/store.h"

namespace rafter {

std::string roofs_age(const Machine& machine) {
  return (machine.quick ? "quickly " : "") + age_text(machine, static_cast<int64_t>(std::time(nullptr)));
}

std::string how_to_probe(DeviceId id) {
  return id == default_device() ? "run `rafter probe`" : fmt::format("run `rafter probe --device {}`", to_string(id));
}

Roofs known_roofs(DeviceId id) {
  try {
    std::optional<Machine> machine = known_machine(device(id).info());
    if (!machine) return {{}, fmt::format("not probed: {}\n", how_to_probe(id))};
    std::string about = fmt::format("floors by the roofs of {}, {}\n", to_string(id), roofs_age(*machine));
    return {std::move(machine), std::move(about)};
  } catch (const Error& error) {
    return {{}, fmt::format("no floors: {}\n", error.what())};
  }
}

}  // namespace rafter
