#include "rafter/formats/json_text.h"

#include "rafter/base/error.h"

namespace rafter {

JsonText::JsonText(std::string_view text, const std::string& origin, size_t max_depth) {
  // simdjson reads whole vectors, past the end of the text: it wants a copy with padding.
  const simdjson::padded_string padded(text);
  simdjson::error_code error = parser_.allocate(text.size(), max_depth);
  if (error == simdjson::SUCCESS) error = parser_.parse(padded).get(root_);
  if (error != simdjson::SUCCESS) {
    const std::string reason = error == simdjson::DEPTH_ERROR ? fmt::format("nested deeper than {} levels", max_depth)
                                                              : simdjson::error_message(error);
    throw input_error({origin, fmt::format("not readable as JSON ({})", reason), "one JSON object", "download it again"});
  }
}

std::string describe_json(simdjson::dom::element value) {
  switch (value.type()) {
    case simdjson::dom::element_type::ARRAY:
      return "a list";
    case simdjson::dom::element_type::OBJECT:
      return "an object";
    case simdjson::dom::element_type::STRING:
      return in_quotes(std::string_view(value), 80);
    case simdjson::dom::element_type::INT64:
      return std::to_string(int64_t(value));
    case simdjson::dom::element_type::UINT64:
      return std::to_string(uint64_t(value));
    case simdjson::dom::element_type::DOUBLE:
      return fmt::format("{}", double(value));
    case simdjson::dom::element_type::BOOL:
      return bool(value) ? "true" : "false";
    default:
      return "null";
  }
}

}  // namespace rafter
