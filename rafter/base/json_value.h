// Numbers for JSON documents: null where there is none, never NaN.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace rafter {

using Json = nlohmann::ordered_json;

inline Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
// Null for a quantity that is never 0 when it is known: a clock, a rate.
inline Json known_or_null(double value) { return value > 0 ? number_or_null(value) : Json(nullptr); }

// A document as text, one field a line, ending with a newline. Bytes that are no UTF-8 become U+FFFD.
inline std::string to_text(const Json& document) {
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace rafter
