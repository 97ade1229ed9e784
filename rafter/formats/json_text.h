// JSON parsed by simdjson, with Rafter's errors and a limit on nesting. For the readers of this layer; other layers use
// JsonObject, which does not show the library.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace rafter {

class JsonText {
 public:
  // `origin` names the text in messages: "'model/config.json'". An input Error where it is not one JSON value, is not
  // UTF-8, or nests deeper than `max_depth`.
  JsonText(std::string_view text, const std::string& origin, size_t max_depth);

  simdjson::dom::element root() const { return root_; }

 private:
  simdjson::dom::parser parser_;  // owns what root_ refers to
  simdjson::dom::element root_;
};

// "an object", "text", "-3" ...: a value as an error quotes it.
std::string describe_json(simdjson::dom::element value);

}  // namespace rafter
