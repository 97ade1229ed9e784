// Checkpoints: the same tensors from every layout, and an error that names whatever is missing or does not fit.
#include "rafter/models/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "tests/support/errors.h"
#include "tests/support/tiny_model.h"

namespace rafter {
namespace {

using test::Bytes;
using test::expect_input_error;
using test::GgufWriter;
using test::TempFolder;
using test::tiny_config;

constexpr Architecture kAll[] = {Architecture::llama, Architecture::qwen2, Architecture::qwen3};

Bytes data_of(const StoredTensor& tensor) { return {tensor.data, tensor.data + tensor.bytes}; }

Checkpoint open_gguf(const TempFolder& folder, const GgufWriter& writer) {
  return Checkpoint::open(folder.write("model.gguf", writer.bytes()));
}

// Every member of the two has the same shape and the same bytes, whatever it is called.
void expect_same_tensors(const ModelTensors& a, const ModelTensors& b) {
  const auto expect_same = [](const StoredTensor& x, const StoredTensor& y) {
    EXPECT_EQ(x.name.empty(), y.name.empty()) << x.name << y.name;
    EXPECT_EQ(x.shape, y.shape) << x.name;
    EXPECT_EQ(data_of(x), data_of(y)) << x.name;
  };
  expect_same(a.embedding, b.embedding);
  expect_same(a.final_norm, b.final_norm);
  expect_same(a.head, b.head);
  ASSERT_EQ(a.layers.size(), b.layers.size());
  for (size_t i = 0; i < a.layers.size(); ++i) {
    const LayerTensors &x = a.layers[i], &y = b.layers[i];
    for (const auto member :
         {&LayerTensors::attention_norm, &LayerTensors::q, &LayerTensors::k, &LayerTensors::v, &LayerTensors::q_bias,
          &LayerTensors::k_bias, &LayerTensors::v_bias, &LayerTensors::q_norm, &LayerTensors::k_norm, &LayerTensors::o,
          &LayerTensors::ffn_norm, &LayerTensors::gate, &LayerTensors::up, &LayerTensors::down}) {
      expect_same(x.*member, y.*member);
    }
  }
}

TEST(Checkpoint, GgufAndHuggingFaceGiveTheSameTensors) {
  for (const Architecture architecture : kAll) {
    for (const bool tied : {true, false}) {
      const ModelConfig config = tiny_config(architecture, tied);
      const TempFolder folder, sharded;
      write_tiny_hugging_face(folder, config);
      write_tiny_hugging_face(sharded, config, 3);
      const Checkpoint gguf = open_gguf(folder, test::tiny_gguf(config));
      const Checkpoint hf = Checkpoint::open(folder.path());
      const Checkpoint file = Checkpoint::open(folder.path("model.safetensors"));
      const Checkpoint shards = Checkpoint::open(sharded.path());
      expect_same_tensors(gguf.tensors(), hf.tensors());
      expect_same_tensors(gguf.tensors(), file.tensors());
      expect_same_tensors(gguf.tensors(), shards.tensors());
      for (const Checkpoint* checkpoint : {&gguf, &hf, &file, &shards}) {
        EXPECT_EQ(checkpoint->dtype(), DType::f32);
        EXPECT_EQ(checkpoint->weight_bytes(), 4 * config.parameters());
        EXPECT_FALSE(checkpoint->is_random());
        EXPECT_EQ(checkpoint->tensors().head.name == checkpoint->tensors().embedding.name, tied);
        EXPECT_TRUE(checkpoint->tensors().rope_factors.name.empty());
      }
      EXPECT_EQ(gguf.tensors().layers[1].q.name, "blk.1.attn_q.weight");
      EXPECT_EQ(hf.tensors().layers[1].q.name, "model.layers.1.self_attn.q_proj.weight");
      EXPECT_EQ(gguf.tensors().layers[0].q_bias.name.empty(), architecture != Architecture::qwen2);
      EXPECT_EQ(gguf.tensors().layers[0].q_norm.name.empty(), architecture != Architecture::qwen3);
    }
  }
}

TEST(Checkpoint, TensorsStayValidWhenItMoves) {
  const TempFolder folder;
  Checkpoint first = open_gguf(folder, test::tiny_gguf(tiny_config(Architecture::llama)));
  const Checkpoint checkpoint = std::move(first);
  EXPECT_EQ(data_of(checkpoint.tensors().embedding), test::random_f32(1, 40 * 32, 0.5f));
  EXPECT_EQ(checkpoint.path(), folder.path("model.gguf"));
}

TEST(Checkpoint, QuantisedTypesAreTallied) {
  const TempFolder folder;
  const Checkpoint checkpoint = open_gguf(folder, test::tiny_gguf(tiny_config(Architecture::llama), DType::q4_1));
  EXPECT_EQ(checkpoint.dtype(), DType::q4_1);
  const ModelConfig& c = checkpoint.config();
  const int64_t norms = (2 * c.layers + 1) * c.hidden;
  EXPECT_EQ(checkpoint.weight_bytes(), norms * 4 + (c.parameters() - norms) / 32 * 20);
}

TEST(Checkpoint, NamesMissingTensors) {
  const ModelConfig config = tiny_config(Architecture::qwen2, false);
  const GgufWriter whole = test::tiny_gguf(config);
  for (size_t i = 0; i < test::tiny_tensors(config).size(); ++i) {
    GgufWriter writer = whole;
    const std::string name = writer.tensors()[i].name;
    if (name == "output.weight") continue;  // absent, it means a tied head
    writer.tensors().erase(writer.tensors().begin() + static_cast<std::ptrdiff_t>(i));
    const TempFolder folder;
    expect_input_error([&] { open_gguf(folder, writer); }, {"model.gguf", "'" + name + "'", "missing", "qwen2"});
  }
  GgufWriter none = whole;
  none.tensors().clear();
  const TempFolder folder;
  expect_input_error([&] { open_gguf(folder, none); }, {"'token_embd.weight'", "missing", "more"});
}

TEST(Checkpoint, AMissingHeadOfAnUntiedModelIsNamed) {
  const TempFolder folder;
  test::write_tiny_hugging_face(folder, tiny_config(Architecture::llama, true));
  folder.write("config.json", test::tiny_config_json(tiny_config(Architecture::llama, false)));
  expect_input_error([&] { Checkpoint::open(folder.path()); }, {"'lm_head.weight'", "missing"});
}

TEST(Checkpoint, AShardAloneSaysToGiveTheFolder) {
  const TempFolder folder;
  write_tiny_hugging_face(folder, tiny_config(Architecture::llama), 2);
  expect_input_error([&] { Checkpoint::open(folder.path("model-00001-of-00002.safetensors")); }, {"missing", "ive the folder"});
}

TEST(Checkpoint, APartOfASplitGgufIsNamed) {
  const TempFolder folder;
  GgufWriter writer = test::tiny_gguf(tiny_config(Architecture::llama));
  writer.put("split.count", 3u);
  expect_input_error([&] { open_gguf(folder, writer); }, {"model.gguf", "one of 3 parts", "--merge"});
}

TEST(Checkpoint, NamesShapesThatDoNotFit) {
  const ModelConfig config = tiny_config(Architecture::qwen3, false);
  const GgufWriter whole = test::tiny_gguf(config);
  for (size_t i = 0; i < test::tiny_tensors(config).size(); ++i) {
    GgufWriter writer = whole;
    GgufWriter::Tensor& tensor = writer.tensors()[i];
    test::append(tensor.data, tensor.data);
    tensor.extents.back() *= 2;
    const TempFolder folder;
    const int64_t outer = test::tiny_tensors(config)[i].shape[0];
    expect_input_error([&] { open_gguf(folder, writer); }, {"the shape of tensor '" + tensor.name + "'",
                                                            fmt::format("[{}", 2 * outer), fmt::format("expected [{}", outer)});
  }
}

TEST(Checkpoint, AConfigOfFarMoreLayersThanTheFileHasIsOneError) {
  const TempFolder folder;
  ModelConfig config = tiny_config(Architecture::llama);
  test::write_tiny_hugging_face(folder, config);
  config.layers = 4096;
  folder.write("config.json", test::tiny_config_json(config));
  expect_input_error([&] { Checkpoint::open(folder.path()); }, {"'model.layers.2.input_layernorm.weight'", "missing"});
}

TEST(Checkpoint, NormsMustNotBeQuantised) {
  const TempFolder folder;
  GgufWriter writer = test::tiny_gguf(tiny_config(Architecture::llama));
  for (GgufWriter::Tensor& tensor : writer.tensors()) {
    if (tensor.name != "output_norm.weight") continue;
    tensor.type = gguf_type_id(DType::q8_0);
    tensor.data = test::random_bytes(1, 34);
  }
  expect_input_error([&] { open_gguf(folder, writer); }, {"the type of tensor 'output_norm.weight'", "q8_0", "f32"});
}

TEST(Checkpoint, RefusesTensorsThatWouldChangeTheResult) {
  const auto open_with = [](const char* name) {
    const TempFolder folder;
    GgufWriter writer = test::tiny_gguf(tiny_config(Architecture::llama));
    writer.add(name, DType::f32, {32}, test::random_f32(1, 32));
    open_gguf(folder, writer);
  };
  expect_input_error([&] { open_with("blk.0.attn_q.bias"); }, {"'blk.0.attn_q.bias'", "not supported", "llama"});
  expect_input_error([&] { open_with("blk.1.attn_output.bias"); }, {"'blk.1.attn_output.bias'", "not supported"});
  expect_input_error([&] { open_with("blk.1.attn_qkv.weight"); }, {"'blk.1.attn_qkv.weight'", "fused"});
  expect_input_error([&] { open_with("output.bias"); }, {"'output.bias'", "not supported"});
  expect_input_error([&] { open_with("blk.2.attn_q.weight"); }, {"'blk.2.attn_q.weight'", "beyond the last", "layers 0 to 1"});
  expect_input_error([&] { open_with("blk.7.anything"); }, {"'blk.7.anything'", "beyond the last"});
  open_with("blk.0.attn_rot_embd");
}

// A config of one layer would drop the second: what runs then is another model.
TEST(Checkpoint, RefusesLayersBeyondTheConfigs) {
  const ModelConfig two = tiny_config(Architecture::qwen3);
  ModelConfig one = two;
  one.layers = 1;
  const TempFolder folder;
  GgufWriter writer = test::tiny_gguf_metadata(one);
  GgufWriter whole = test::tiny_gguf(two);
  for (const GgufWriter::Tensor& tensor : whole.tensors()) writer.tensors().push_back(tensor);
  expect_input_error([&] { open_gguf(folder, writer); }, {"'blk.1.", "beyond the last", "one layer"});
  test::write_tiny_hugging_face(folder, two);
  folder.write("config.json", test::tiny_config_json(one));
  expect_input_error([&] { Checkpoint::open(folder.path()); }, {"'model.layers.1.", "beyond the last", "one layer"});
}

TEST(Checkpoint, ListsTensorsThatNoModelOfItsKindHas) {
  const std::vector<std::string> strange = {"something.else",       "outputs.weight",      "blk.", "blk.x.y", "blk.0",
                                            "blk.-1.attn_q.weight", "blk.01.attn_q.weight"};
  const TempFolder folder;
  GgufWriter writer = test::tiny_gguf(tiny_config(Architecture::llama));
  EXPECT_TRUE(open_gguf(folder, writer).tensors().unused.empty());
  for (const std::string& name : strange) writer.add(name, DType::f32, {32}, test::random_f32(1, 32));
  writer.add("rope_freqs.weight", DType::f32, {4}, test::bytes_of(std::vector<float>{1, 1, 1, 1}));
  EXPECT_EQ(open_gguf(folder, writer).tensors().unused, strange);
}

TEST(Checkpoint, AHeadStoredBesideATiedEmbeddingIsNothingStrange) {
  const TempFolder folder;
  test::write_tiny_hugging_face(folder, tiny_config(Architecture::llama, false));
  folder.write("config.json", test::tiny_config_json(tiny_config(Architecture::llama, true)));
  EXPECT_TRUE(Checkpoint::open(folder.path()).tensors().unused.empty());
}

TEST(Checkpoint, NamesFusedProjectionsOfHuggingFace) {
  for (const char* name : {"self_attn.qkv_proj.weight", "mlp.gate_up_proj.weight", "self_attn.W_pack.weight"}) {
    const TempFolder folder;
    folder.write("config.json", test::tiny_config_json(tiny_config(Architecture::llama)));
    test::SafetensorsWriter writer;
    writer.add(std::string("model.layers.0.") + name, "F32", {4}, test::random_f32(1, 4));
    folder.write("model.safetensors", writer.bytes());
    expect_input_error([&] { Checkpoint::open(folder.path()); },
                       {std::string("'model.layers.0.") + name + "'", "fused", "not supported"});
  }
}

TEST(Checkpoint, OldRotaryFrequenciesArePassedOver) {
  const TempFolder folder;
  const ModelConfig config = tiny_config(Architecture::llama);
  test::write_tiny_hugging_face(folder, config);
  test::SafetensorsWriter writer;
  uint64_t seed = 1;
  for (const test::TinyTensor& tensor : test::tiny_tensors(config)) {
    const int64_t rows = tensor.shape.size() == 1 ? 1 : tensor.shape[0];
    writer.add(tensor.hugging_face, "F32", tensor.shape, test::random_f32(seed++, rows * tensor.shape.back()));
  }
  writer.add("model.layers.0.self_attn.rotary_emb.inv_freq", "F32", {4}, test::random_f32(1, 4));
  folder.write("model.safetensors", writer.bytes());
  Checkpoint::open(folder.path());
}

TEST(Checkpoint, RopeFactors) {
  const auto with = [](DType type, std::vector<uint64_t> extents, const Bytes& data) {
    GgufWriter writer = test::tiny_gguf(tiny_config(Architecture::llama));
    writer.add("rope_freqs.weight", type, std::move(extents), data);
    return writer;
  };
  const TempFolder folder;
  const Bytes good = test::bytes_of(std::vector<float>{1, 1, 2.5f, 32});
  const Checkpoint checkpoint = open_gguf(folder, with(DType::f32, {4}, good));
  EXPECT_EQ(data_of(checkpoint.tensors().rope_factors), good);
  EXPECT_EQ(checkpoint.weight_bytes(), 4 * checkpoint.config().parameters() + 16);
  const TempFolder bad;
  expect_input_error([&] { open_gguf(bad, with(DType::f32, {2}, test::random_f32(1, 2))); },
                     {"'rope_freqs.weight'", "[2]", "[4]"});
  expect_input_error([&] { open_gguf(bad, with(DType::f16, {4}, test::random_bytes(1, 8))); },
                     {"'rope_freqs.weight'", "f16", "f32"});
  expect_input_error(
      [&] {
        open_gguf(bad, with(DType::f32, {4}, test::bytes_of(std::vector<float>{1, 1, 0, 1})));
      },
      {"value 2 of tensor 'rope_freqs.weight'", "is 0", "above 0"});
}

TEST(Checkpoint, NamesPathsThatAreNoModel) {
  const TempFolder folder;
  expect_input_error([&] { Checkpoint::open(folder.path("none.gguf")); }, {"none.gguf", "not there"});
  expect_input_error([&] { Checkpoint::open(""); }, {"not there"});
  expect_input_error([&] { Checkpoint::open(folder.path()); }, {folder.path(), "without a config.json"});
  folder.write("some.GGUF", "GGUF");
  expect_input_error([&] { Checkpoint::open(folder.path()); }, {"without a config.json", "some.GGUF"});
  expect_input_error([&] { Checkpoint::open(folder.path("some.GGUF")); }, {"cut off"});
  folder.write("pytorch_model.bin", "PK\x03\x04");
  expect_input_error([&] { Checkpoint::open(folder.path("pytorch_model.bin")); },
                     {"'.bin'", "a zip archive", "'.gguf' or '.safetensors'"});
  folder.write("model", "x");
  expect_input_error([&] { Checkpoint::open(folder.path("model")); }, {"missing", "'.gguf' or '.safetensors'"});
  folder.write("sub/model.safetensors", "x");
  folder.write("sub/another.gguf", "GGUF");
  const std::string alone = test::input_error_of([&] { Checkpoint::open(folder.path("sub/model.safetensors")); });
  EXPECT_NE(alone.find(folder.path("sub/config.json")), std::string::npos) << alone;
  EXPECT_EQ(alone.find("another.gguf"), std::string::npos) << alone;
  folder.write("page.gguf", "<!DOCTYPE html>");
  expect_input_error([&] { Checkpoint::open(folder.path("page.gguf")); }, {"an HTML page"});
  folder.write("config.json", test::tiny_config_json(tiny_config(Architecture::llama)));
  expect_input_error([&] { Checkpoint::open(folder.path()); }, {"without weights"});
}

// As a cache keeps it: under the hash of its content.
TEST(Checkpoint, AGgufFileIsKnownByItsFirstBytes) {
  const TempFolder folder;
  const Bytes bytes = test::tiny_gguf(tiny_config(Architecture::llama)).bytes();
  for (const char* name : {"sha256-74701a8c", "74701a8c", "model.bin"}) {
    EXPECT_EQ(Checkpoint::open(folder.write(name, bytes)).config().layers, 2) << name;
  }
}

TEST(Checkpoint, APipeIsNotProposedAsAModel) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo(folder.path("pipe.gguf").c_str(), 0600), 0);
  const std::string message = test::input_error_of([&] { Checkpoint::open(folder.path()); });
  EXPECT_EQ(message.find("pipe.gguf"), std::string::npos) << message;
}

TEST(Checkpoint, EveryTruncationOfATinyModelIsOneError) {
  const TempFolder folder;
  ModelConfig config = tiny_config(Architecture::llama);
  config.layers = 1;
  const Bytes whole = test::tiny_gguf(config, DType::q4_0).bytes();
  const std::string path = folder.write("cut.gguf", whole);
  Checkpoint::open(path);
  // The data at a prime stride, the header at every byte.
  for (size_t length = whole.size() - 1; length > 0; length -= length > 2500 ? 97 : 1) {
    std::filesystem::resize_file(path, length);
    expect_input_error([&] { Checkpoint::open(path); }, {"cut.gguf"});
  }
}

TEST(Checkpoint, RandomWeightsHaveShapesAndNoData) {
  for (const std::string& id : shipped_configs()) {
    const ModelConfig config = shipped_config(id);
    const Checkpoint checkpoint = Checkpoint::random(config, DType::bf16);
    EXPECT_TRUE(checkpoint.is_random());
    EXPECT_FALSE(checkpoint.has_tokenizer());
    EXPECT_TRUE(checkpoint.path().empty());
    EXPECT_EQ(checkpoint.dtype(), DType::bf16);
    EXPECT_EQ(checkpoint.tensors().embedding.data, nullptr);
    EXPECT_EQ(checkpoint.tensors().layers.size(), static_cast<size_t>(config.layers));
    const LayerTensors& layer = checkpoint.tensors().layers[0];
    EXPECT_EQ(layer.down.shape, (Shape{config.hidden, config.ffn}));
    EXPECT_EQ(layer.down.bytes, config.hidden * config.ffn * 2);
    EXPECT_EQ(layer.attention_norm.dtype, DType::f32);
    // Two bytes a parameter, and two more for those kept in f32.
    const int64_t small = config.hidden + config.layers * (2 * config.hidden + (config.qk_norm ? 2 * config.head_dim : 0) +
                                                           (config.qkv_bias ? config.q_width() + 2 * config.kv_width() : 0));
    EXPECT_EQ(checkpoint.weight_bytes(), 2 * config.parameters() + 2 * small);
  }
}

TEST(Checkpoint, RandomWeightsMustFitTheirBlocks) {
  const ModelConfig config = shipped_config("smollm2-135m");
  EXPECT_EQ(Checkpoint::random(config, DType::q4_1).dtype(), DType::q4_1);
  expect_input_error([&] { Checkpoint::random(config, DType::q4_k); }, {"a row of 576", "q4_k", "a multiple of 256"});
  expect_input_error([&] { Checkpoint::random(config, DType::i32); }, {"i32"});
}

// Written by the library that everyone's checkpoints come from, in both of its ways to spell rotary positions.
TEST(Checkpoint, OpensWhatTransformersWrote) {
  int opened = 0, scaled = 0, sharded = 0;
  std::set<double> thetas;
  for (const auto& entry : std::filesystem::directory_iterator(RAFTER_SOURCE_DIR "/tests/golden/models")) {
    if (!entry.is_directory()) continue;
    SCOPED_TRACE(entry.path());
    const Checkpoint checkpoint = Checkpoint::open(entry.path().string());
    const std::string folder = entry.path().filename().string();
    const ModelConfig& config = checkpoint.config();
    EXPECT_TRUE(folder.starts_with(std::string(name(config.architecture)) + "-")) << folder;
    EXPECT_TRUE(folder.ends_with("-" + std::string(name(checkpoint.dtype())))) << folder;
    EXPECT_EQ(config.tied_head, folder.find("-tied-") != std::string::npos) << folder;
    EXPECT_EQ(config.rope_scaling.has_value(), folder.find("-rope3-") != std::string::npos) << folder;
    thetas.insert(config.rope_theta);
    EXPECT_EQ(checkpoint.weight_bytes(), config.parameters() * row_bytes(checkpoint.dtype(), 1));
    ++opened;
    scaled += config.rope_scaling.has_value();
    sharded += folder.find("-sharded-") != std::string::npos;
  }
  EXPECT_GE(opened, 6);
  EXPECT_EQ(static_cast<int>(thetas.size()), opened) << "each model has a theta of its own";
  EXPECT_GE(scaled, 2);
  EXPECT_GE(sharded, 1);
}

TEST(Checkpoint, OpensSmolLM2) {
  const char* home = std::getenv("HOME");
  const std::string path = std::string(home == nullptr ? "" : home) + "/.cache/rafter/models/SmolLM2-135M-Instruct.Q4_1.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there; scripts/demo fetches it";
  const Checkpoint checkpoint = Checkpoint::open(path);
  const ModelConfig& config = checkpoint.config();
  const ModelConfig shipped = shipped_config("smollm2-135m");
  EXPECT_EQ(config.parameters(), shipped.parameters());
  EXPECT_EQ(config.head_dim, 64);
  EXPECT_EQ(config.context, shipped.context);
  EXPECT_EQ(config.rope_theta, shipped.rope_theta);
  EXPECT_FLOAT_EQ(static_cast<float>(config.norm_epsilon), 1e-5f);
  EXPECT_TRUE(config.tied_head);
  EXPECT_TRUE(config.rope_interleaved);
  EXPECT_EQ(checkpoint.dtype(), DType::q4_1);
  EXPECT_TRUE(checkpoint.has_tokenizer());
  EXPECT_EQ(checkpoint.tensors().layers.size(), 30u);
}

}  // namespace
}  // namespace rafter
