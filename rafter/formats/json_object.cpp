#include "rafter/formats/json_object.h"

#include "rafter/base/error.h"
#include "rafter/formats/json_text.h"

namespace rafter {

namespace {
constexpr size_t kMaxDepth = 64;
}  // namespace

struct JsonObject::State {
  std::shared_ptr<const JsonText> text;  // shared with the objects taken out of it
  simdjson::dom::object object;
  std::string origin;
  std::string prefix;  // keys that lead here, each with a dot after it

  // Nothing where the key is absent or null.
  std::optional<simdjson::dom::element> find(std::string_view key) const {
    simdjson::dom::element value;
    if (object.at_key(key).get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
    return value;
  }

  [[noreturn]] void refuse(std::string_view key, simdjson::dom::element value, const std::string& expected) const {
    throw input_error({fmt::format("{}: '{}{}'", origin, prefix, key), describe_json(value), expected});
  }

  template <typename T>
  std::optional<T> get(std::string_view key, const std::string& expected) const {
    const auto value = find(key);
    if (!value) return std::nullopt;
    T out;
    if (value->get(out) != simdjson::SUCCESS) refuse(key, *value, expected);
    return out;
  }
};

JsonObject::JsonObject(std::string_view text, const std::string& origin) : state_(std::make_unique<State>()) {
  state_->origin = in_quotes(origin);
  state_->text = std::make_shared<const JsonText>(text, state_->origin, kMaxDepth);
  const simdjson::dom::element root = state_->text->root();
  if (root.get(state_->object) != simdjson::SUCCESS) {
    throw input_error({state_->origin, describe_json(root), "a JSON object", "download it again"});
  }
}

JsonObject::JsonObject(std::unique_ptr<State> state) : state_(std::move(state)) {}
JsonObject::~JsonObject() = default;
JsonObject::JsonObject(JsonObject&&) noexcept = default;
JsonObject& JsonObject::operator=(JsonObject&&) noexcept = default;

const std::string& JsonObject::origin() const { return state_->origin; }
bool JsonObject::has(std::string_view key) const { return state_->find(key).has_value(); }
std::optional<int64_t> JsonObject::integer(std::string_view key) const { return state_->get<int64_t>(key, "an integer"); }
std::optional<double> JsonObject::real(std::string_view key) const { return state_->get<double>(key, "a number"); }
std::optional<bool> JsonObject::boolean(std::string_view key) const { return state_->get<bool>(key, "true or false"); }

std::optional<std::string> JsonObject::text(std::string_view key) const {
  const auto text = state_->get<std::string_view>(key, "text");
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

std::vector<std::string> JsonObject::texts(std::string_view key) const {
  const auto list = state_->get<simdjson::dom::array>(key, "a list of text");
  std::vector<std::string> texts;
  if (!list) return texts;
  for (const simdjson::dom::element value : *list) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) state_->refuse(key, value, "a list of text");
    texts.emplace_back(text);
  }
  return texts;
}

std::optional<JsonObject> JsonObject::object(std::string_view key) const {
  const auto object = state_->get<simdjson::dom::object>(key, "an object");
  if (!object) return std::nullopt;
  auto state = std::make_unique<State>();
  *state = {state_->text, *object, state_->origin, fmt::format("{}{}.", state_->prefix, key)};
  return JsonObject(std::move(state));
}

}  // namespace rafter
