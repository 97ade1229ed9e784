#include "rafter/measure/profiles/recorded_input.h"

#include <algorithm>
#include <array>
#include <limits>

namespace rafter {

namespace {

// Compilers differ in what they call the integers.
constexpr std::array kTypes = {
    ElementType{"float", "f32", 4, NumberKind::floating, 6},
    ElementType{"double", "f64", 8, NumberKind::floating, 7},
    ElementType{"c10::Half", "f16", 2, NumberKind::floating, 5},
    ElementType{"c10::BFloat16", "bf16", 2, NumberKind::floating, 15},
    ElementType{"c10::Float8_e4m3fn", "fp8_e4m3", 1, NumberKind::floating, 24},
    ElementType{"c10::Float8_e5m2", "fp8_e5m2", 1, NumberKind::floating, 23},
    ElementType{"long int", "", 8, NumberKind::integer, 4},
    ElementType{"long", "", 8, NumberKind::integer, 4},
    ElementType{"int", "", 4, NumberKind::integer, 3},
    ElementType{"short int", "", 2, NumberKind::integer, 2},
    ElementType{"short", "", 2, NumberKind::integer, 2},
    ElementType{"signed char", "", 1, NumberKind::integer, 1},
    ElementType{"unsigned char", "", 1, NumberKind::integer, 0},
    ElementType{"bool", "", 1, NumberKind::truth, 11},
};

template <typename Predicate>
const ElementType* find_type(const Predicate& is_it) {
  const auto* const found = std::find_if(kTypes.begin(), kTypes.end(), is_it);
  return found == kTypes.end() ? nullptr : found;
}

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace

const ElementType* element_type(std::string_view name) {
  return find_type([&](const ElementType& type) { return type.name == name; });
}

const ElementType* element_type(int64_t code) {
  return find_type([&](const ElementType& type) { return type.code == code; });
}

double elements(const Extents& dims) {
  double product = 1;
  for (const int64_t extent : dims) product *= extent < 0 ? kUnknown : static_cast<double>(extent);
  return product;
}

// Strides of 0 repeat what is there; windows that slide by less than they are wide share what lies between the first and the
// last place of all.
double places(const RecordedTensor& tensor) {
  const double all = elements(tensor.dims);
  if (tensor.strides.size() != tensor.dims.size() || !(all > 0)) return all;
  double told_apart = 1, span = 1;
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    const auto extent = static_cast<double>(tensor.dims[i]), stride = static_cast<double>(tensor.strides[i]);
    if (stride < 0) return kUnknown;
    if (stride > 0) told_apart *= extent;
    span += (extent - 1) * stride;
  }
  return std::min(told_apart, span);
}

bool broadcast(Extents& into, const Extents& other) {
  if (into.size() < other.size()) into.insert(into.begin(), other.size() - into.size(), 1);
  const size_t missing = into.size() - other.size();
  for (size_t i = 0; i < other.size(); ++i) {
    int64_t& extent = into[missing + i];
    if (extent != other[i] && extent != 1 && other[i] != 1) return false;
    if (extent == 1) extent = other[i];
  }
  return true;
}

}  // namespace rafter
