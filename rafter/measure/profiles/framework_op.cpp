#include "rafter/measure/profiles/framework_op.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace rafter {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kMost = 1e18;  // FLOPs or bytes: more than a GPU does in minutes is a damaged trace
const OpNeeds kNothing{kUnknown, kUnknown, 0, {}};

std::optional<int64_t> integer(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// "[0, -1]" or "-1".
std::optional<Extents> integers(std::string_view text) {
  Extents values;
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const auto value = integer(text.substr(0, comma));
    if (!value) return std::nullopt;
    values.push_back(*value);
    text.remove_prefix(std::min(text.find_first_not_of(", ", comma), text.size()));
  }
  return values;
}

// The place in dims of one that may count from the end.
std::optional<size_t> axis(int64_t dim, const Extents& dims) {
  const auto rank = static_cast<int64_t>(dims.size());
  if (dim < -rank || dim >= rank) return std::nullopt;
  return static_cast<size_t>(dim < 0 ? dim + rank : dim);
}

// The inputs of one op by their places; those that it has not are as those that were left out.
class Inputs {
 public:
  explicit Inputs(const std::vector<RecordedInput>& inputs) : inputs_(inputs) {}

  const RecordedInput& at(size_t i) const {
    static const RecordedInput left_out;
    return i < inputs_.size() ? inputs_[i] : left_out;
  }
  const Extents& dims(size_t i) const { return at(i).tensor.dims; }
  const std::string& value(size_t i) const { return at(i).value; }
  const ElementType* type(size_t i) const { return element_type(at(i).type); }
  bool given(size_t i) const { return !at(i).type.empty() || !at(i).value.empty() || !dims(i).empty(); }
  bool is_number(size_t i) const { return at(i).type == "Scalar"; }

  double element_bytes(size_t i) const { return type(i) == nullptr ? kUnknown : type(i)->bytes; }
  double bytes(size_t i) const { return places(at(i).tensor) * element_bytes(i); }
  double bytes_if_given(size_t i) const { return given(i) ? bytes(i) : 0; }

  // Of the first that has floating numbers.
  std::string_view dtype() const {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (type(i) != nullptr && type(i)->kind == NumberKind::floating) return type(i)->dtype;
    }
    return {};
  }

 private:
  const std::vector<RecordedInput>& inputs_;
};

// a times b with the rules of torch.matmul: vectors are rows and columns, further extents are batches.
OpNeeds product(const Inputs& op, Extents a, Extents b, double bytes_read) {
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  if (a.size() < 2 || b.size() < 2) return kNothing;
  const int64_t m = a[a.size() - 2], k = a.back(), n = b.back();
  if (b[b.size() - 2] != k) return kNothing;
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  if (!broadcast(a, b)) return kNothing;
  const double outputs = elements(a) * elements({m, n});
  return {2 * outputs * elements({k}), bytes_read + outputs * op.element_bytes(0), 0, {}};
}

OpNeeds matmul(const Inputs& op) { return product(op, op.dims(0), op.dims(1), op.bytes(0) + op.bytes(1)); }

OpNeeds matmul_and_sum(const Inputs& op) {
  return product(op, op.dims(1), op.dims(2), op.bytes(0) + op.bytes(1) + op.bytes(2));
}

// The weight is [n, k].
OpNeeds linear(const Inputs& op) {
  Extents weight = op.dims(1);
  if (weight.size() != 2) return kNothing;
  std::swap(weight[0], weight[1]);
  return product(op, op.dims(0), weight, op.bytes(0) + op.bytes(1) + op.bytes_if_given(2));
}

// (x, dim, half to float)
OpNeeds softmax(const Inputs& op) {
  const double all = elements(op.dims(0));
  return {5 * all, op.bytes(0) + all * (op.value(2) == "True" ? 4 : op.element_bytes(0)), 0, {}};
}

// (x, normalized shape, weight, bias, epsilon); an RMS norm has no bias.
OpNeeds norm(const Inputs& op, double flops, double parameter_bytes) {
  const double all = elements(op.dims(0));
  return {flops * all, op.bytes(0) + parameter_bytes + all * op.element_bytes(0), 0, {}};
}
OpNeeds layer_norm(const Inputs& op) { return norm(op, 7, op.bytes_if_given(2) + op.bytes_if_given(3)); }
OpNeeds rms_norm(const Inputs& op) { return norm(op, 4, op.bytes_if_given(2)); }

// Rows of `table` along a dim, one for each index.
OpNeeds rows_of(const Inputs& op, size_t table, size_t indices, std::optional<size_t> dim) {
  if (!dim) return kNothing;
  Extents row = op.dims(table);
  const double rows = elements({row[*dim]}), asked = elements(op.dims(indices));
  if (!(rows >= 0)) return kNothing;
  row.erase(row.begin() + static_cast<std::ptrdiff_t>(*dim));
  const double row_bytes = elements(row) * op.element_bytes(table);
  return {0, op.bytes(indices) + std::min(asked, rows) * row_bytes + asked * row_bytes, 0, {}};
}

OpNeeds embedding(const Inputs& op) { return op.dims(0).size() == 2 ? rows_of(op, 0, 1, 0) : kNothing; }

OpNeeds index_select(const Inputs& op) {
  const auto dim = integer(op.value(1));
  return dim ? rows_of(op, 0, 2, axis(*dim, op.dims(0))) : kNothing;
}

OpNeeds fill(const Inputs& op) { return {0, op.bytes(0), 0, {}}; }

// (to, from)
OpNeeds copy_into(const Inputs& op) { return {0, op.bytes(1) + op.bytes(0), 0, {}}; }

OpNeeds clone(const Inputs& op) { return {0, op.bytes(0) + elements(op.dims(0)) * op.element_bytes(0), 0, {}}; }

// (x, type, ...)
OpNeeds convert(const Inputs& op) {
  const auto code = integer(op.value(1));
  const ElementType* to = code ? element_type(*code) : op.value(1).empty() ? op.type(0) : nullptr;
  if (to == nullptr) return kNothing;
  return {0, op.bytes(0) + elements(op.dims(0)) * to->bytes, 0, {}};
}

OpNeeds concatenate(const Inputs& op) {
  OpNeeds needs;
  for (const RecordedTensor& part : op.at(0).list) needs.untyped_elements += places(part) + elements(part.dims);
  return op.at(0).list.empty() ? kNothing : needs;
}

NumberKind kind_of_number(std::string_view text) {
  if (text == "True" || text == "False") return NumberKind::truth;
  return integer(text) ? NumberKind::integer : NumberKind::floating;
}

// Bytes of an element of the output, as PyTorch promotes types: of the tensors that have extents the higher kind counts, then
// the wider type. A number of a higher kind than theirs makes it a default that the trace does not say.
double promoted_bytes(const Inputs& op, size_t inputs, NumberKind lowest) {
  const ElementType* best = nullptr;
  NumberKind numbers = NumberKind::truth;
  bool mixed = false;
  for (size_t i = 0; i < inputs; ++i) {
    const ElementType* type = op.type(i);
    if (op.is_number(i) || op.dims(i).empty()) {
      numbers = std::max(numbers, type == nullptr ? kind_of_number(op.value(i)) : type->kind);
    } else if (type == nullptr) {
      return kUnknown;
    } else if (best == nullptr || type->kind > best->kind || (type->kind == best->kind && type->bytes > best->bytes)) {
      best = type;
      mixed = false;
    } else if (type->kind == best->kind && type->bytes == best->bytes && type->dtype != best->dtype) {
      mixed = true;  // bf16 and f16 meet in f32
    }
  }
  if (best == nullptr || numbers > best->kind || best->kind < lowest) return kUnknown;
  return mixed ? 2 * best->bytes : best->bytes;
}

struct Elementwise {
  std::string_view name;
  size_t inputs;
  NumberKind lowest;  // kind of the inputs whose type the output takes: sqrt makes of integers something else
};

OpNeeds elementwise(const Inputs& op, const Elementwise& rule, bool in_place) {
  Extents out;
  double read = 0;
  for (size_t i = 0; i < rule.inputs; ++i) {
    if (op.is_number(i)) continue;
    read += op.bytes(i);
    if (!broadcast(out, op.dims(i))) return kNothing;
  }
  const double all = elements(out);
  const double written = in_place ? op.bytes(0) : all * promoted_bytes(op, rule.inputs, rule.lowest);
  return {all, read + written, 0, {}};
}

// Elements that are left of x, by the dims that input 1 names: none named, all are summed up.
double reduced_elements(const Inputs& op) {
  Extents left = op.dims(0);
  const auto dims = integers(op.value(1));
  if (!dims || dims->empty()) return 1;
  for (const int64_t dim : *dims) {
    const auto place = axis(dim, left);
    if (!place) return 0;
    left[*place] = 1;
  }
  return elements(left);
}

// (x, [dims], keep, type)
OpNeeds reduction(const Inputs& op) {
  const auto code = integer(op.value(3));
  const ElementType* type = code ? element_type(*code) : op.type(0);
  const double outputs = op.value(1).starts_with('[') ? reduced_elements(op) : 1;
  return {elements(op.dims(0)), op.bytes(0) + outputs * (type == nullptr ? kUnknown : type->bytes), 0, {}};
}

// (x), (x, dim, keep), whose second output is where each was found, or (x, y), the greater of both.
OpNeeds extremum(const Inputs& op) {
  if (op.type(1) != nullptr) return elementwise(op, {{}, 2, NumberKind::truth}, false);
  const double found_bytes = op.is_number(1) ? 8 : 0;
  return {elements(op.dims(0)), op.bytes(0) + reduced_elements(op) * (op.element_bytes(0) + found_bytes), 0, {}};
}

// Which keys a query sees: the causal masks differ in which corner of a matrix that is not square they begin.
enum class Mask { unknown, none, causal_top_left, causal_bottom_right };

Mask causal(std::string_view value, Mask mask) {
  return value == "True" ? mask : value == "False" ? Mask::none : Mask::unknown;
}

double visible_pairs(double queries, double keys, Mask mask) {
  if (mask == Mask::unknown) return kUnknown;
  if (mask == Mask::none) return queries * keys;
  const double both = std::min(queries, keys), triangle = both * (both + 1) / 2;
  if (keys <= queries) return triangle + (mask == Mask::causal_top_left ? (queries - keys) * keys : 0);
  return triangle + (mask == Mask::causal_bottom_right ? (keys - queries) * queries : 0);
}

// q, k and v of four extents: batch, heads and length in the order given, width. Several heads of q may share one of k and v.
OpNeeds attention(const Inputs& op, size_t heads, size_t length, Mask mask, double bias_bytes) {
  const Extents &q = op.dims(0), &k = op.dims(1), &v = op.dims(2);
  if (q.size() != 4 || k.size() != 4 || v.size() != 4 || q[3] != k[3]) return kNothing;
  if (q[0] != k[0] || k[0] != v[0] || k[heads] != v[heads] || k[length] != v[length]) return kNothing;
  if (k[heads] <= 0 || q[heads] % k[heads] != 0) return kNothing;
  const double pairs = elements({q[0], q[heads]}) * visible_pairs(elements({q[length]}), elements({k[length]}), mask);
  const double outputs = elements({q[0], q[heads], q[length], v[3]});
  return {2 * pairs * (elements({q[3]}) + elements({v[3]})),
          op.bytes(0) + op.bytes(1) + op.bytes(2) + bias_bytes + outputs * op.element_bytes(0),
          0,
          {}};
}

// (q, k, v, dropout, causal ...)
OpNeeds flash_attention(const Inputs& op) { return attention(op, 1, 2, causal(op.value(4), Mask::causal_top_left), 0); }

// (q, k, v, bias, with log-sum-exp, dropout, causal ...)
OpNeeds biased_attention(const Inputs& op) {
  return attention(op, 1, 2, causal(op.value(6), Mask::causal_top_left), op.bytes_if_given(3));
}

// (q, k, v, starts of q, starts of k, longest q, longest k, dropout, causal, debug, scale, window left, window right, lengths
// of k ...). With starts or lengths, each sequence has its own, which are not in the trace; a window hides more.
OpNeeds flash_attention_forward(const Inputs& op) {
  const bool windows = (op.given(11) && op.value(11) != "-1") || (op.given(12) && op.value(12) != "-1");
  if (op.given(3) || op.given(4) || op.given(13) || windows) return kNothing;
  return attention(op, 2, 1, causal(op.value(8), Mask::causal_bottom_right), 0);
}

// (q, k, v, bias, starts of q, starts of k, longest q, longest k, dropout, mask, with log-sum-exp, scale, lengths of k, window)
OpNeeds efficient_attention_forward(const Inputs& op) {
  if (op.given(4) || op.given(5) || op.given(12) || op.given(13)) return kNothing;
  const auto kind = integer(op.value(9)).value_or(-1);
  const Mask mask = kind == 0   ? Mask::none
                    : kind == 1 ? Mask::causal_top_left
                    : kind == 2 ? Mask::causal_bottom_right
                                : Mask::unknown;
  return attention(op, 2, 1, mask, op.bytes_if_given(3));
}

struct Rule {
  std::string_view name;
  OpNeeds (*needs)(const Inputs&);
};

constexpr std::array kRules = {
    Rule{"mm", matmul},
    Rule{"bmm", matmul},
    Rule{"matmul", matmul},
    Rule{"addmm", matmul_and_sum},
    Rule{"addmm_", matmul_and_sum},
    Rule{"baddbmm", matmul_and_sum},
    Rule{"baddbmm_", matmul_and_sum},
    Rule{"linear", linear},
    Rule{"_softmax", softmax},
    Rule{"_log_softmax", softmax},
    Rule{"native_layer_norm", layer_norm},
    Rule{"_fused_rms_norm", rms_norm},
    Rule{"rms_norm", rms_norm},
    Rule{"embedding", embedding},
    Rule{"index_select", index_select},
    Rule{"fill_", fill},
    Rule{"zero_", fill},
    Rule{"copy_", copy_into},
    Rule{"clone", clone},
    Rule{"to", convert},
    Rule{"_to_copy", convert},
    Rule{"cat", concatenate},
    Rule{"sum", reduction},
    Rule{"mean", reduction},
    Rule{"amax", reduction},
    Rule{"amin", reduction},
    Rule{"max", extremum},
    Rule{"min", extremum},
    Rule{"_scaled_dot_product_flash_attention", flash_attention},
    Rule{"_scaled_dot_product_efficient_attention", biased_attention},
    Rule{"_scaled_dot_product_cudnn_attention", biased_attention},
    Rule{"_flash_attention_forward", flash_attention_forward},
    Rule{"_efficient_attention_forward", efficient_attention_forward},
};

// Each with its form in place, whose name ends in '_'.
constexpr std::array kElementwise = {
    Elementwise{"add", 2, NumberKind::truth},      Elementwise{"sub", 2, NumberKind::integer},
    Elementwise{"rsub", 2, NumberKind::integer},   Elementwise{"mul", 2, NumberKind::truth},
    Elementwise{"maximum", 2, NumberKind::truth},  Elementwise{"minimum", 2, NumberKind::truth},
    Elementwise{"pow", 2, NumberKind::integer},    Elementwise{"div", 2, NumberKind::floating},
    Elementwise{"neg", 1, NumberKind::integer},    Elementwise{"abs", 1, NumberKind::integer},
    Elementwise{"relu", 1, NumberKind::integer},   Elementwise{"silu", 1, NumberKind::floating},
    Elementwise{"gelu", 1, NumberKind::floating},  Elementwise{"sigmoid", 1, NumberKind::floating},
    Elementwise{"tanh", 1, NumberKind::floating},  Elementwise{"exp", 1, NumberKind::floating},
    Elementwise{"log", 1, NumberKind::floating},   Elementwise{"sin", 1, NumberKind::floating},
    Elementwise{"cos", 1, NumberKind::floating},   Elementwise{"sqrt", 1, NumberKind::floating},
    Elementwise{"rsqrt", 1, NumberKind::floating}, Elementwise{"reciprocal", 1, NumberKind::floating},
};

template <typename Table>
auto find_name(const Table& table, std::string_view name) {
  const auto* const found = std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.name == name; });
  return found == table.end() ? nullptr : found;
}

OpNeeds by_name(std::string_view name, const Inputs& op) {
  if (const auto* rule = find_name(kRules, name)) return rule->needs(op);
  const bool in_place = name.ends_with('_');
  if (in_place) name.remove_suffix(1);
  const auto* rule = find_name(kElementwise, name);
  return rule == nullptr ? kNothing : elementwise(op, *rule, in_place);
}

bool is_amount(double value) { return value >= 0 && value <= kMost; }

}  // namespace

std::optional<OpNeeds> needs_of(std::string_view op, const std::vector<RecordedInput>& inputs) {
  constexpr std::string_view kSpace = "aten::";
  if (!op.starts_with(kSpace)) return std::nullopt;
  const Inputs arguments(inputs);
  OpNeeds needs = by_name(op.substr(kSpace.size()), arguments);
  if (!is_amount(needs.flops) || !is_amount(needs.bytes) || !is_amount(needs.untyped_elements)) return std::nullopt;
  needs.dtype = arguments.dtype();
  return needs;
}

}  // namespace rafter
