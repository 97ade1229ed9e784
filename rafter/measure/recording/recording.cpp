#include "rafter/measure/recording/recording.h"

namespace rafter {

std::string_view name(RecordedKind kind) {
  static constexpr std::array<std::string_view, 7> kNames = {"kernel", "copy", "fill", "api", "wait", "range", "overhead"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace rafter
