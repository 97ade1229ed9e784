// Stop strings in a stream of text: what might be the start of one is held back until it cannot be.
//
// Text comes in pieces of any size; what comes out does not depend on where the pieces were cut.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rafter {

class StopStrings {
 public:
  // An input Error where a string is empty: it would stop before the first word.
  explicit StopStrings(std::vector<std::string> stops);

  // Takes text and gives what can be shown now. The first stop string to be complete ends the text just before it
  // (of several complete at once, before the longest); from then on nothing comes out.
  std::string push(std::string_view text);
  // The end of the text: what was held back.
  std::string finish();

  bool matched() const { return !match_.empty(); }
  const std::string& match() const { return match_; }  // the stop string that was found; empty where none was

 private:
  size_t held_length() const;

  std::vector<std::string> stops_;
  std::string pending_;
  std::string match_;
};

}  // namespace rafter
