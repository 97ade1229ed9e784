// The safetensors reader, of one file and of shards: round trips, every truncation, and each fault by its name.
#include "rafter/formats/safetensors.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"

namespace rafter {
namespace {

using test::Bytes;
using test::expect_input_error;
using test::SafetensorsWriter;

SafetensorsFile open(const Bytes& bytes) { return {bytes, "model.safetensors"}; }

void expect_bad(const Bytes& bytes, std::initializer_list<std::string_view> parts) {
  expect_input_error([&] { open(bytes); }, parts);
}

// A file of one header and so many bytes of data.
void expect_bad_header(std::string_view header, int64_t data, std::initializer_list<std::string_view> parts) {
  SCOPED_TRACE(header);
  expect_bad(SafetensorsWriter::with_header(header, test::random_bytes(9, data)), parts);
}

SafetensorsWriter small_file() {
  SafetensorsWriter writer;
  writer.add("matrix", "F32", {3, 4}, test::random_f32(1, 12));
  writer.add("norm", "BF16", {5}, test::random_bytes(2, 10));
  writer.add("half", "F16", {1, 2, 3}, test::random_bytes(3, 12));
  return writer;
}

TEST(Safetensors, ReadsBackWhatWasWritten) {
  const Bytes bytes = small_file().bytes();
  const SafetensorsFile file = open(bytes);
  ASSERT_EQ(file.tensors().size(), 3u);
  const StoredTensor* matrix = file.find("matrix");
  ASSERT_NE(matrix, nullptr);
  EXPECT_EQ(matrix->dtype, DType::f32);
  EXPECT_EQ(matrix->shape, (Shape{3, 4}));
  EXPECT_EQ(Bytes(matrix->data, matrix->data + matrix->bytes), test::random_f32(1, 12));
  EXPECT_EQ(file.find("norm")->dtype, DType::bf16);
  EXPECT_EQ(file.find("norm")->bytes, 10);
  EXPECT_EQ(file.find("half")->dtype, DType::f16);
  EXPECT_EQ(file.find("half")->shape, (Shape{1, 2, 3}));
  EXPECT_EQ(Bytes(file.find("half")->data, file.find("half")->data + 12), test::random_bytes(3, 12));
  EXPECT_EQ(file.find("__metadata__"), nullptr);
}

TEST(Safetensors, TensorsMayLieInAnyOrder) {
  const Bytes bytes = SafetensorsWriter::with_header(R"({"b":{"dtype":"F16","shape":[2],"data_offsets":[4,8]},)"
                                                     R"("a":{"shape":[2],"data_offsets":[0,4],"dtype":"F16","more":{}}})",
                                                     test::random_bytes(1, 8));
  const SafetensorsFile file = open(bytes);
  EXPECT_EQ(file.find("b")->data, file.find("a")->data + 4);
}

TEST(Safetensors, EveryTruncationIsOneError) {
  const Bytes whole = small_file().bytes();
  open(whole);
  for (size_t length = 0; length < whole.size(); ++length) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    SCOPED_TRACE(length);
    expect_bad(cut, {"model.safetensors"});
  }
}

TEST(Safetensors, EveryChangedByteIsReadOrRefused) {
  const Bytes whole = small_file().bytes();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {0x01, 0x04, 0x80, 0xff}) {
      Bytes changed = whole;
      changed[at] ^= static_cast<std::byte>(flip);
      try {
        const SafetensorsFile file = open(changed);
        for (const StoredTensor& tensor : file.tensors()) {
          ASSERT_GE(tensor.data, changed.data());
          ASSERT_LE(tensor.data + tensor.bytes, changed.data() + changed.size());
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.fault(), Fault::input);
      }
    }
  }
}

TEST(Safetensors, SaysWhatAWrongFileLooksLike) {
  const auto from = [](std::string_view text) {
    Bytes out;
    test::append(out, text);
    return out;
  };
  expect_bad(from("<!doctype html><html>"), {"an HTML page", "safetensors"});
  expect_bad(from("version https://git-lfs.github.com/spec/v1\n"), {"a git-LFS pointer", "git lfs pull"});
  expect_bad(from(std::string("GGUF\3\0\0\0\1\0\0\0", 12)), {"a GGUF file"});
  expect_bad(from("PK\x03\x04 and more text"), {"a zip archive"});
  expect_bad(from("\x80\x02 and more text"), {"a Python pickle"});
}

TEST(Safetensors, TheHeaderIsBounded) {
  for (const uint64_t length : {uint64_t{1} << 60, ~uint64_t{0}, uint64_t{100'000'001}}) {
    Bytes bytes;
    test::append(bytes, length);
    test::append(bytes, std::string_view("{}      "));
    expect_bad(bytes, {"the length of the header", std::to_string(length), "100000000"});
  }
  Bytes bytes;
  test::append(bytes, uint64_t{90'000'000});
  test::append(bytes, std::string_view("{}      "));
  expect_bad(bytes, {"the header", "cut off", "90000000"});
}

TEST(Safetensors, TheHeaderMustBeJson) {
  expect_bad_header("{", 0, {"the header", "not readable as JSON"});
  expect_bad_header("{} {}", 0, {"not readable as JSON"});
  expect_bad_header("{\"a\": nul}", 0, {"not readable as JSON"});
  expect_bad_header(std::string("{\"a\xff\": 1}"), 0, {"not readable as JSON"});
  expect_bad_header("{\"a\":" + std::string(10000, '[') + std::string(10000, ']') + "}", 0, {"nested deeper than 16"});
  expect_bad_header(std::string(200000, '{'), 0, {"not readable as JSON"});
}

TEST(Safetensors, EntriesMustBeWhole) {
  expect_bad_header(R"({"a":7})", 0, {"tensor 'a'", "is 7", "an object"});
  expect_bad_header(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4, {"'dtype' of tensor 'a' is missing"});
  expect_bad_header(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4, {"'shape' of tensor 'a' is missing"});
  expect_bad_header(R"({"a":{"dtype":"F32","shape":[1]}})", 4, {"'data_offsets' of tensor 'a' is missing"});
  expect_bad_header(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4, {"'dtype'", "given twice"});
  expect_bad_header(
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8,
      {"tensor 'a' is given twice"});
}

TEST(Safetensors, NamesDtypesItCannotRead) {
  for (const char* dtype : {"F64", "I64", "I32", "I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2", "F4", "C64"}) {
    SafetensorsWriter writer;
    writer.add("layer.odd", dtype, {4}, test::random_bytes(1, 4));
    expect_bad(writer.bytes(), {"the dtype of tensor 'layer.odd' is", dtype, "F32, F16 or BF16"});
  }
  expect_bad_header(R"({"a":{"dtype":5,"shape":[1],"data_offsets":[0,4]}})", 4, {"the dtype of tensor 'a' is 5"});
}

TEST(Safetensors, RefusesBadShapes) {
  const auto shape = [](std::string_view text) {
    return fmt::format(R"({{"a":{{"dtype":"F32","shape":{},"data_offsets":[0,64]}}}})", text);
  };
  expect_bad_header(shape("[0]"), 64, {"dimension 0 of tensor 'a' is 0", "1 or more"});
  expect_bad_header(shape("[2,-3]"), 64, {"dimension 1 of tensor 'a' is -3"});
  expect_bad_header(shape("[1.5]"), 64, {"dimension 0 of tensor 'a' is 1.5"});
  expect_bad_header(shape("[\"4\"]"), 64, {"dimension 0 of tensor 'a' is '4'"});
  expect_bad_header(shape("[18446744073709551615]"), 64, {"dimension 0 of tensor 'a' is 18446744073709551615"});
  expect_bad_header(shape("[1152921504606846976]"), 64, {"the data of tensor 'a' is 64 bytes", "1152921504606846976"});
  expect_bad_header(shape("[1152921504606846976,16]"), 64, {"the data of tensor 'a' is 64 bytes", "more than 2^63"});
  expect_bad_header(shape("[4294967296,4294967296]"), 64, {"more than 2^63"});
  expect_bad_header(shape("[1,1,1,1,16]"), 64, {"the rank of tensor 'a' is 5", "1 to 4"});
  expect_bad_header(shape("[]"), 64, {"the rank of tensor 'a' is 0"});
  expect_bad_header(shape("16"), 64, {"the shape of tensor 'a' is 16", "a list"});
  expect_bad_header(shape("[15]"), 64, {"the data of tensor 'a' is 64 bytes", "60", "[15] of f32"});
}

TEST(Safetensors, RefusesBadOffsets) {
  const auto offsets = [](std::string_view text) {
    return fmt::format(R"({{"a":{{"dtype":"F32","shape":[2],"data_offsets":{}}}}})", text);
  };
  expect_bad_header(offsets("[0,16]"), 8, {"the data of tensor 'a' is bytes 0 to 16 of the 8", "inside the file"});
  expect_bad_header(offsets("[18446744073709551608,18446744073709551615]"), 8, {"the data of tensor 'a'"});
  expect_bad_header(offsets("[8,0]"), 8, {"bytes 8 to 0"});
  expect_bad_header(offsets("[-8,0]"), 8, {"not two byte offsets"});
  expect_bad_header(offsets("[0]"), 8, {"not two byte offsets"});
  expect_bad_header(offsets("[0,4,8]"), 8, {"not two byte offsets"});
  expect_bad_header(offsets("{}"), 8, {"not two byte offsets"});
}

TEST(Safetensors, RefusesOverlapsAndHoles) {
  const auto two = [](int b0, int b1) {
    return fmt::format(R"({{"a":{{"dtype":"F32","shape":[2],"data_offsets":[0,8]}},)"
                       R"("b":{{"dtype":"F32","shape":[2],"data_offsets":[{},{}]}}}})",
                       b0, b1);
  };
  open(SafetensorsWriter::with_header(two(8, 16), test::random_bytes(1, 16)));
  expect_bad_header(two(4, 12), 12, {"the first byte of tensor 'b' is at offset 4", "8, where the tensor before it ends"});
  expect_bad_header(two(0, 8), 8, {"is at offset 0", "8, where"});
  expect_bad_header(two(12, 20), 20, {"the first byte of tensor 'b' is at offset 12", "8, where"});
  expect_bad_header(two(8, 16), 17, {"the data after the header is 17 bytes", "16, where the last tensor ends"});
  expect_bad_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12, {"'a' is at offset 4"});
}

// ---- Shards ----

std::string index_of(std::string_view map) { return fmt::format(R"({{"metadata":{{"total_size":1}},"weight_map":{}}})", map); }

TEST(SafetensorsSet, OneFileOrAFolderOfOne) {
  const test::TempFolder folder;
  const std::string path = folder.write("model.safetensors", small_file().bytes());
  for (const std::string& from : {path, folder.path()}) {
    const SafetensorsSet set = SafetensorsSet::open(from);
    EXPECT_EQ(set.names(), (std::vector<std::string_view>{"half", "matrix", "norm"}));
    EXPECT_EQ(set.find("matrix")->shape, (Shape{3, 4}));
    EXPECT_EQ(set.find("nothing"), nullptr);
  }
}

TEST(SafetensorsSet, ReadsShards) {
  const test::TempFolder folder;
  SafetensorsWriter first, second;
  first.add("a", "F32", {2}, test::random_f32(1, 2)).add("b", "F16", {4}, test::random_bytes(2, 8));
  second.add("c", "BF16", {2, 2}, test::random_bytes(3, 8));
  folder.write("model-00001-of-00002.safetensors", first.bytes());
  folder.write("model-00002-of-00002.safetensors", second.bytes());
  folder.write("model.safetensors.index.json", index_of(R"({"a":"model-00001-of-00002.safetensors",
    "b":"model-00001-of-00002.safetensors","c":"model-00002-of-00002.safetensors"})"));
  const SafetensorsSet moved = SafetensorsSet::open(folder.path());
  const SafetensorsSet& set = moved;
  EXPECT_EQ(set.names(), (std::vector<std::string_view>{"a", "b", "c"}));
  EXPECT_EQ(Bytes(set.find("a")->data, set.find("a")->data + 8), test::random_f32(1, 2));
  EXPECT_EQ(Bytes(set.find("c")->data, set.find("c")->data + 8), test::random_bytes(3, 8));
}

TEST(SafetensorsSet, NamesWhatIsMissing) {
  const test::TempFolder folder;
  expect_input_error([&] { SafetensorsSet::open(folder.path()); }, {folder.path(), "without weights", "model.safetensors"});
  expect_input_error([&] { SafetensorsSet::open(folder.path("no.safetensors")); }, {"no.safetensors", "not readable"});
  folder.write("model.safetensors.index.json", index_of(R"({"a":"shard.safetensors"})"));
  expect_input_error([&] { SafetensorsSet::open(folder.path()); }, {"shard.safetensors", "not readable"});
  folder.write("shard.safetensors", small_file().bytes());
  expect_input_error([&] { SafetensorsSet::open(folder.path()); }, {"tensor 'a'", "missing from 'shard.safetensors'"});
}

TEST(SafetensorsSet, TheIndexStaysInItsFolder) {
  for (const char* file :
       {"../model.safetensors", "/etc/passwd", "sub/model.safetensors", "..", ".hidden", "a\\\\b", "", "a\\u0000b"}) {
    expect_input_error([&] { parse_safetensors_index(index_of(fmt::format(R"({{"a":"{}"}})", file)), "index.json"); },
                       {"index.json", "the file of tensor 'a'", "same folder"});
  }
}

TEST(SafetensorsSet, RefusesBadIndexes) {
  const auto expect = [](std::string_view text, std::initializer_list<std::string_view> parts) {
    expect_input_error([&] { parse_safetensors_index(text, "index.json"); }, parts);
  };
  expect("", {"'index.json'", "not readable as JSON"});
  expect("[]", {"'weight_map'", "missing"});
  expect("{}", {"'weight_map'", "missing"});
  expect(index_of("[]"), {"'weight_map'", "not an object"});
  expect(index_of("{}"), {"'weight_map'", "empty"});
  expect(index_of(R"({"a":1})"), {"tensor 'a' is 1"});
  expect(index_of(R"({"a":"x","a":"y"})"), {"tensor 'a' is given twice"});
}

}  // namespace
}  // namespace rafter
