// Numbers as a profiler prints them in the user's locale: 1,234.5 or 1.234,5 or 1 234,5 or 1'234.5.
//
// One cell can be read two ways ("1,234"), a file hardly ever: every cell is shown to a NumberStyle first, and each that can
// be read one way only is a vote. Without a vote the C locale holds: a comma groups thousands, a dot begins the fraction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rafter {

class NumberStyle {
 public:
  // Text that is no number is no vote.
  void see(std::string_view cell);

  char decimal() const { return comma_votes_ > dot_votes_ ? ',' : '.'; }
  // A cell that can be read two ways was seen, and none that tells which.
  bool is_guess() const { return !ambiguous_.empty() && comma_votes_ == dot_votes_; }
  const std::string& ambiguous_cell() const { return ambiguous_; }  // the first

  // Nothing for what is no number in this style: "n/a", "nan", "inf", an empty cell, text.
  std::optional<double> parse(std::string_view cell) const;

 private:
  int64_t dot_votes_ = 0, comma_votes_ = 0;
  std::string ambiguous_;
};

}  // namespace rafter
