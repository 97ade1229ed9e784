// An input of a framework's op as a trace recorded it, and what can be counted of it.
//
// Counts are doubles: no product of extents overflows them, and what is not known (a negative extent, a type that is missing)
// is NaN, which every sum and product that it goes into becomes as well.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rafter {

using Extents = std::vector<int64_t>;

struct RecordedTensor {
  Extents dims;
  Extents strides;  // in elements; empty where the trace has none
};

// A tensor, a list of tensors, a number or a list of numbers, or an argument that was left out.
struct RecordedInput {
  std::string type;   // "c10::BFloat16", "long int"; "TensorList", "Scalar", "ScalarList"; empty where it was left out
  std::string value;  // of what is no tensor: "-1", "[0, 1]", "True"
  RecordedTensor tensor;
  std::vector<RecordedTensor> list;  // of a TensorList, whose type the trace does not say
};

enum class NumberKind : uint8_t { truth, integer, floating };

struct ElementType {
  std::string_view name;   // in traces
  std::string_view dtype;  // "bf16"; empty where no roof goes by it
  double bytes;
  NumberKind kind;
  int64_t code;  // in place of the name where a type is an argument
};

// Null for a name or a code that is none. Complex numbers are not among them.
const ElementType* element_type(std::string_view name);
const ElementType* element_type(int64_t code);

double elements(const Extents& dims);
// Places in memory: fewer than elements where strides make them share some.
double places(const RecordedTensor& tensor);
// To the extents of both together, as operands of one elementwise op; false where they do not fit each other.
bool broadcast(Extents& into, const Extents& other);

}  // namespace rafter
