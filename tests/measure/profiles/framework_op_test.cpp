// What ops need, against numbers worked out by hand, in the arguments that traces record; and inputs that cannot be.
#include "rafter/measure/profiles/framework_op.h"

#include <gtest/gtest.h>

#include <limits>

namespace rafter {
namespace {

constexpr const char* kBf16 = "c10::BFloat16";
constexpr double kMega = 1048576;

RecordedInput tensor(const std::string& type, Extents dims, Extents strides = {}) {
  return {type, {}, {std::move(dims), std::move(strides)}, {}};
}
RecordedInput bf16(Extents dims, Extents strides = {}) { return tensor(kBf16, std::move(dims), std::move(strides)); }
RecordedInput f32(Extents dims, Extents strides = {}) { return tensor("float", std::move(dims), std::move(strides)); }
RecordedInput index(Extents dims) { return tensor("long int", std::move(dims)); }
RecordedInput number(const std::string& value) { return {"Scalar", value, {}, {}}; }
RecordedInput numbers(const std::string& value) { return {"ScalarList", value, {}, {}}; }
const RecordedInput kLeftOut;

void expect(std::string_view op, const std::vector<RecordedInput>& inputs, double flops, double bytes) {
  const auto needs = needs_of("aten::" + std::string(op), inputs);
  ASSERT_TRUE(needs.has_value()) << op;
  EXPECT_DOUBLE_EQ(needs->flops, flops) << op;
  EXPECT_DOUBLE_EQ(needs->bytes, bytes) << op;
}
void expect_nothing(std::string_view op, const std::vector<RecordedInput>& inputs) {
  EXPECT_FALSE(needs_of("aten::" + std::string(op), inputs).has_value()) << op;
}

TEST(FrameworkOp, Products) {
  expect("mm", {bf16({4096, 4096}), bf16({4096, 4096})}, 2.0 * 4096 * 4096 * 4096, 3.0 * 4096 * 4096 * 2);
  expect("mm", {bf16({2, 3}), bf16({3, 5})}, 60, 2 * (6 + 15 + 10));
  expect("addmm", {bf16({5}), bf16({2, 3}), bf16({3, 5}), number("1"), number("1")}, 60, 2 * (5 + 6 + 15 + 10));
  expect("addmm", {bf16({2, 5}, {0, 1}), bf16({2, 3}), bf16({3, 5})}, 60, 2 * (5 + 6 + 15 + 10));
  expect("bmm", {f32({7, 2, 3}), f32({7, 3, 5})}, 7 * 60, 7 * 4 * (6 + 15 + 10));
  expect("baddbmm_", {f32({7, 2, 5}), f32({7, 2, 3}), f32({7, 3, 5})}, 7 * 60, 7 * 4 * (10 + 6 + 15 + 10));
  expect("linear", {bf16({7, 2, 3}), bf16({5, 3}), kLeftOut}, 14 * 30, 2 * (42 + 15 + 70));
  expect("linear", {bf16({3}), bf16({5, 3}), bf16({5})}, 30, 2 * (3 + 15 + 5 + 5));
}

TEST(FrameworkOp, ProductsOfBatchesThatBroadcastAndOfVectors) {
  expect("matmul", {f32({4, 1, 2, 3}), f32({7, 3, 5})}, 28 * 60, 4 * (24 + 105 + 280));
  expect("matmul", {f32({2, 3}), f32({3})}, 12, 4 * (6 + 3 + 2));
  expect("matmul", {f32({3}), f32({3})}, 6, 4 * (3 + 3 + 1));
  // An expanded batch is one matrix.
  expect("bmm", {f32({7, 2, 3}, {0, 3, 1}), f32({7, 3, 5}, {15, 5, 1})}, 7 * 60, 4 * (6 + 105 + 70));
}

TEST(FrameworkOp, SoftmaxAndNorms) {
  expect("_softmax", {f32({64, 1048576}), number("-1"), number("False")}, 5 * 64 * kMega, 2 * 64 * kMega * 4);
  expect("_log_softmax", {tensor("c10::Half", {3, 5}), number("-1"), number("True")}, 75, 15 * (2 + 4));
  expect("native_layer_norm", {bf16({6, 10}), numbers("[10]"), bf16({10}), bf16({10}), number("1e-05")}, 420,
         2 * (60 + 20 + 60));
  expect("native_layer_norm", {bf16({6, 10}), numbers("[10]"), kLeftOut, kLeftOut, number("1e-05")}, 420, 2 * 120);
  expect("_fused_rms_norm", {f32({6, 10}), numbers("[10]"), f32({10}), number("1e-06")}, 240, 4 * 130);
}

TEST(FrameworkOp, RowsOfATable) {
  expect("embedding", {bf16({1000, 8}), index({2, 3}), number("-1")}, 0, 6 * 8 + 2 * 6 * 8 * 2);
  expect("embedding", {bf16({4, 8}), index({2, 3})}, 0, 6 * 8 + (4 + 6) * 8 * 2);  // it has but 4 rows to read
  expect("index_select", {f32({10, 6, 3}), number("1"), index({2})}, 0, 2 * 8 + 2 * (10 * 2 * 3) * 4);
  expect("index_select", {f32({10, 6, 3}), number("-2"), index({2})}, 0, 2 * 8 + 2 * (10 * 2 * 3) * 4);
  expect_nothing("index_select", {f32({10, 6, 3}), number("3"), index({2})});
  expect_nothing("index_select", {f32({-10, 6}), number("0"), index({2})});
}

TEST(FrameworkOp, ElementsOneByOne) {
  expect("silu", {bf16({3, 5})}, 15, 2 * 30);
  expect("add", {bf16({3, 5}), bf16({3, 5}), number("1")}, 15, 2 * 45);
  expect("mul", {f32({3, 1}), f32({5})}, 15, 4 * (3 + 5 + 15));
  expect("mul", {bf16({3, 5}), f32({5})}, 15, 2 * 15 + 4 * (5 + 15));  // f32 is the wider
  expect("mul", {bf16({2}), tensor("c10::Half", {2})}, 2, 2 * 2 * 2 + 2 * 4);
  expect("mul", {index({4}), bf16({4})}, 4, 4 * (8 + 2 + 2));
  expect("div", {bf16({4}), tensor("double", {})}, 4, 8 + 8 + 8);  // by a number, which is no reason to widen
  expect("pow", {bf16({4}), number("2")}, 4, 16);
  expect("neg", {index({4})}, 4, 64);
  expect("add", {f32({0, 5}), f32({5})}, 0, 20);
}

TEST(FrameworkOp, InPlaceTheOutputIsTheFirstInput) {
  expect("add_", {bf16({1, 1536}), index({}), number("1")}, 1536, 2 * 1536 * 2 + 8);
  expect("mul_", {bf16({4}), f32({4})}, 4, 2 * 4 * 2 + 16);
  expect("relu_", {f32({4})}, 4, 32);
}

TEST(FrameworkOp, ATypeThatTheTraceDoesNotSayIsNotGuessed) {
  expect_nothing("mul", {index({4}), number("0.5")});
  expect_nothing("mul", {index({4}), tensor("double", {})});
  expect_nothing("sqrt", {index({4})});
  expect_nothing("add", {tensor("c10::complex<float>", {4}), f32({4})});
}

TEST(FrameworkOp, Copies) {
  expect("copy_", {bf16({4, 4}), f32({4}), number("False")}, 0, 4 * 4 + 16 * 2);
  expect("fill_", {f32({10}), number("0")}, 0, 40);
  expect("zero_", {f32({10})}, 0, 40);
  expect("clone", {f32({4, 1000}, {0, 1}), number("0")}, 0, 4 * 5000);
  expect("_to_copy", {f32({10}), number("15"), number("0")}, 0, 60);
  expect("to", {f32({10}), kLeftOut}, 0, 80);
  expect_nothing("_to_copy", {f32({10}), number("99")});
}

TEST(FrameworkOp, AListOfTensorsHasElementsOfNoType) {
  RecordedInput list{"TensorList", {}, {}, {{{2, 3}, {}}, {{4, 3}, {0, 1}}}};
  const auto needs = needs_of("aten::cat", {list, number("0")});
  ASSERT_TRUE(needs.has_value());
  EXPECT_EQ(needs->bytes, 0);
  EXPECT_EQ(needs->untyped_elements, 6 + 3 + 6 + 12);
  list.list[1].dims[0] = -4;
  expect_nothing("cat", {list, number("0")});
  expect_nothing("cat", {});
}

TEST(FrameworkOp, Reductions) {
  expect("sum", {f32({6, 10}), kLeftOut}, 60, 4 * 61);
  expect("sum", {f32({6, 10}), numbers("[-1]"), number("False"), kLeftOut}, 60, 4 * 66);
  expect("sum", {bf16({6, 10}), numbers("[0]"), number("False"), number("6")}, 60, 2 * 60 + 4 * 10);
  expect("mean", {f32({2, 3, 4}), numbers("[0, 2]"), number("True")}, 24, 4 * (24 + 3));
  expect("amax", {f32({6, 10}), numbers("[]"), number("False")}, 60, 4 * 61);
  expect("max", {f32({6, 10}), number("1"), number("False")}, 60, 4 * 60 + 6 * (4 + 8));
  expect("max", {f32({6, 10})}, 60, 4 * 61);
  expect("max", {f32({6, 10}), f32({6, 10})}, 60, 4 * 180);
  expect("sum", {f32({6, 10}), numbers("[5]"), number("False")}, 60, 4 * 60);
  expect("sum", {f32({6, 10}), numbers("[x")}, 60, 4 * 61);
}

// Two sequences of 100 queries and 300 keys; eight heads of q share two of k and v; 64 wide.
std::vector<RecordedInput> heads_first(int64_t queries = 100) {
  return {bf16({2, 8, queries, 64}), bf16({2, 2, 300, 64}), bf16({2, 2, 300, 64})};
}
std::vector<RecordedInput> length_first(int64_t queries = 100) {
  return {bf16({2, queries, 8, 64}), bf16({2, 300, 2, 64}), bf16({2, 300, 2, 64})};
}
std::vector<RecordedInput> with(std::vector<RecordedInput> inputs, const std::vector<RecordedInput>& more) {
  inputs.insert(inputs.end(), more.begin(), more.end());
  return inputs;
}
constexpr double kPairFlops = 16.0 * 2 * (64 + 64);  // 16 heads in all
constexpr double kBytes = 2 * 2 * (2 * 8 * 100 * 64 + 2 * 2 * 300 * 64);

TEST(FrameworkOp, AttentionCountsThePairsThatSeeEachOther) {
  const RecordedInput none = number("0."), yes = number("True"), no = number("False");
  expect("_scaled_dot_product_flash_attention", with(heads_first(), {none, no, no}), kPairFlops * 100 * 300, kBytes);
  expect("_scaled_dot_product_flash_attention", with(heads_first(), {none, yes, no}), kPairFlops * 5050, kBytes);
  expect("_scaled_dot_product_efficient_attention", with(heads_first(), {kLeftOut, no, none, no}), kPairFlops * 30000, kBytes);
  // A bias for all, expanded to each head of each sequence.
  expect("_scaled_dot_product_efficient_attention", with(heads_first(), {bf16({2, 8, 100, 300}, {0, 0, 300, 1}), no, none, no}),
         kPairFlops * 30000, kBytes + 2 * 30000);
  expect("_scaled_dot_product_cudnn_attention", with(heads_first(), {kLeftOut, no, none, yes, no}), kPairFlops * 5050, kBytes);
}

TEST(FrameworkOp, AttentionOfTheInnerOpsHasTheLengthFirst) {
  const RecordedInput none = number("0."), yes = number("True"), no = number("False"), length = number("300");
  const auto flash = [&](const RecordedInput& causal) {
    return with(length_first(), {kLeftOut, kLeftOut, length, length, none, causal, no});
  };
  expect("_flash_attention_forward", flash(no), kPairFlops * 30000, kBytes);
  expect("_flash_attention_forward", flash(yes), kPairFlops * (5050 + 200 * 100), kBytes);  // the last query sees every key
  expect("_flash_attention_forward", with(flash(no), {kLeftOut, number("-1"), number("-1")}), kPairFlops * 30000, kBytes);
  expect_nothing("_flash_attention_forward", with(flash(no), {kLeftOut, number("128"), number("0")}));
  const auto efficient = [&](const char* mask) {
    return with(length_first(), {kLeftOut, kLeftOut, kLeftOut, kLeftOut, kLeftOut, none, number(mask), no});
  };
  expect("_efficient_attention_forward", efficient("0"), kPairFlops * 30000, kBytes);
  expect("_efficient_attention_forward", efficient("1"), kPairFlops * 5050, kBytes);
  expect("_efficient_attention_forward", efficient("2"), kPairFlops * (5050 + 200 * 100), kBytes);
  expect_nothing("_efficient_attention_forward", efficient("3"));
}

TEST(FrameworkOp, MoreQueriesThanKeys) {
  const RecordedInput none = number("0."), no = number("False"), yes = number("True");
  const double bytes = 2 * 2 * (2 * 8 * 400 * 64 + 2 * 2 * 300 * 64);
  expect("_scaled_dot_product_flash_attention", with(heads_first(400), {none, yes, no}), kPairFlops * (45150 + 100 * 300),
         bytes);
  expect("_flash_attention_forward", with(length_first(400), {kLeftOut, kLeftOut, none, none, none, yes, no}),
         kPairFlops * 45150, bytes);
}

TEST(FrameworkOp, AttentionWhoseLengthsOrMaskTheTraceDoesNotSay) {
  const RecordedInput none = number("0."), no = number("False");
  expect_nothing("_scaled_dot_product_flash_attention", heads_first());
  expect_nothing("_flash_attention_forward",
                 with(length_first(), {tensor("int", {3}), tensor("int", {3}), none, none, none, no, no}));
  expect_nothing("_efficient_attention_forward",
                 with(length_first(), {kLeftOut, tensor("int", {3}), tensor("int", {3}), none, none, none, number("0"), no}));
  auto odd = heads_first();
  odd[0].tensor.dims[1] = 7;  // seven heads cannot share two
  expect_nothing("_scaled_dot_product_flash_attention", with(odd, {none, no, no}));
  odd[1].tensor.dims[1] = odd[2].tensor.dims[1] = 0;
  expect_nothing("_scaled_dot_product_flash_attention", with(odd, {none, no, no}));
}

TEST(FrameworkOp, SharedPlacesAreReadOnce) {
  expect("exp", {f32({64, 1000}, {0, 1})}, 64000, 4 * (1000 + 64000));
  expect("exp", {f32({1000, 25}, {1, 1})}, 25000, 4 * (1024 + 25000));  // windows of 25 that slide by one
  expect("exp", {f32({10, 20}, {1, 10})}, 200, 4 * 400);                // transposed
  expect("exp", {f32({10, 20}, {100, 1})}, 200, 4 * 400);               // part of a wider one
  expect("exp", {f32({10, 20}, {1})}, 200, 4 * 400);                    // strides that are not whole are none
  expect_nothing("exp", {f32({10, 20}, {-20, 1})});
}

TEST(FrameworkOp, TheDtypeIsOfTheMaths) {
  EXPECT_EQ(needs_of("aten::mm", {bf16({2, 2}), bf16({2, 2})})->dtype, "bf16");
  EXPECT_EQ(needs_of("aten::mul", {index({4}), f32({4})})->dtype, "f32");
  EXPECT_EQ(needs_of("aten::neg", {index({4})})->dtype, "");
}

TEST(FrameworkOp, WhatIsNotKnownOrCannotBeIsNothing) {
  EXPECT_FALSE(needs_of("mm", {bf16({2, 2}), bf16({2, 2})}).has_value()) << "of another library";
  expect_nothing("mm_backward", {bf16({2, 2}), bf16({2, 2})});
  expect_nothing("", {});
  expect_nothing("_", {});
  const int64_t most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();
  const std::vector<std::vector<RecordedInput>> odd = {
      {},
      {kLeftOut, kLeftOut, kLeftOut, kLeftOut},
      {bf16({-1, 2}), bf16({2, 2}), bf16({-2}), bf16({least})},
      {bf16({most, most}), bf16({most, most}), bf16({most, most}), bf16({most, most})},
      {bf16({least, least, least, least}), bf16({least, least, least, least}), bf16({least, least, least, least})},
      {tensor("", {2, 2}), tensor("", {2, 2}), tensor("", {2, 2})},
      {tensor("Tensor", {2, 2}), bf16({2, 2}, {most, most}), tensor("x", {2})},
      {bf16(Extents(100000, 3)), bf16(Extents(100000, 3)), bf16(Extents(100000, 3))},
      {number("x"), numbers("[,]"), number("-")},
  };
  for (const char* op : {"mm",
                         "addmm",
                         "bmm",
                         "baddbmm",
                         "linear",
                         "matmul",
                         "_softmax",
                         "native_layer_norm",
                         "_fused_rms_norm",
                         "embedding",
                         "index_select",
                         "fill_",
                         "copy_",
                         "clone",
                         "_to_copy",
                         "cat",
                         "sum",
                         "max",
                         "add",
                         "exp_",
                         "pow",
                         "_scaled_dot_product_flash_attention",
                         "_scaled_dot_product_efficient_attention",
                         "_flash_attention_forward",
                         "_efficient_attention_forward"}) {
    for (const auto& inputs : odd) expect_nothing(op, inputs);
  }
  expect_nothing("mm", {bf16({2, 3}), bf16({4, 5})});
  expect_nothing("mm", {bf16({}), bf16({3, 5})});
  expect_nothing("add", {bf16({3}), bf16({4})});
}

}  // namespace
}  // namespace rafter
