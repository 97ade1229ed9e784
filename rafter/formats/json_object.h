// A JSON object to look values up in, such as config.json: what is absent is told from what is of the wrong type.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rafter {

class JsonObject {
 public:
  // `origin` names the text in messages. An input Error where the text is not one JSON object.
  JsonObject(std::string_view text, const std::string& origin);
  ~JsonObject();
  JsonObject(JsonObject&&) noexcept;
  JsonObject& operator=(JsonObject&&) noexcept;

  const std::string& origin() const;

  // An absent key and a null are the same: nullopt, or an empty vector. A value of another type is an input Error that
  // names the key, the value and the type expected. A key given twice has its first value.
  bool has(std::string_view key) const;
  std::optional<int64_t> integer(std::string_view key) const;
  std::optional<double> real(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  std::optional<JsonObject> object(std::string_view key) const;

 private:
  struct State;
  explicit JsonObject(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace rafter
