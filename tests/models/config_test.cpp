// Configs from GGUF and from Hugging Face, what each refuses and names, and the shipped ones against the models' sizes.
#include "rafter/models/config.h"

#include <gtest/gtest.h>

#include <cmath>

#include "rafter/formats/gguf.h"
#include "tests/support/errors.h"
#include "tests/support/tiny_model.h"

namespace rafter {
namespace {

using test::Bytes;
using test::expect_input_error;
using test::GgufWriter;
using test::tiny_config;
using test::tiny_config_json;

ModelConfig from_gguf(const GgufWriter& writer) {
  const Bytes bytes = writer.bytes();
  return config_from_gguf(GgufFile(bytes, "model.gguf"));
}

ModelConfig from_hf(const std::string& json) { return config_from_hf(json, "models/tiny/config.json"); }

// The JSON of a tiny llama with more keys; a key given again comes first and so wins.
ModelConfig from_hf_with(const std::string& keys, Architecture architecture = Architecture::llama) {
  return from_hf("{" + keys + "," + tiny_config_json(tiny_config(architecture)).substr(1));
}

void expect_same(const ModelConfig& a, const ModelConfig& b) {
  EXPECT_EQ(a.architecture, b.architecture);
  EXPECT_EQ(a.layers, b.layers);
  EXPECT_EQ(a.hidden, b.hidden);
  EXPECT_EQ(a.ffn, b.ffn);
  EXPECT_EQ(a.q_heads, b.q_heads);
  EXPECT_EQ(a.kv_heads, b.kv_heads);
  EXPECT_EQ(a.head_dim, b.head_dim);
  EXPECT_EQ(a.vocab, b.vocab);
  EXPECT_EQ(a.context, b.context);
  EXPECT_FLOAT_EQ(static_cast<float>(a.norm_epsilon), static_cast<float>(b.norm_epsilon));
  EXPECT_EQ(a.rope_theta, b.rope_theta);
  EXPECT_EQ(a.tied_head, b.tied_head);
  EXPECT_EQ(a.qkv_bias, b.qkv_bias);
  EXPECT_EQ(a.qk_norm, b.qk_norm);
}

constexpr Architecture kAll[] = {Architecture::llama, Architecture::qwen2, Architecture::qwen3};

// ---- GGUF ----

TEST(ConfigGguf, ReadsEachArchitecture) {
  for (const Architecture architecture : kAll) {
    for (const bool tied : {true, false}) {
      const ModelConfig made = tiny_config(architecture, tied);
      const ModelConfig read = from_gguf(test::tiny_gguf(made));
      expect_same(read, made);
      EXPECT_EQ(read.name, "tiny");
      EXPECT_EQ(read.rope_interleaved, architecture == Architecture::llama);  // a converter permutes only llama
      EXPECT_FALSE(read.rope_scaling.has_value());
    }
  }
}

TEST(ConfigGguf, TakesTheVocabularyFromTheTokens) {
  GgufWriter writer = test::tiny_gguf(tiny_config(Architecture::llama));
  writer.put("tokenizer.ggml.tokens", std::vector<std::string>(40, "x"));
  EXPECT_EQ(from_gguf(writer).vocab, 40);
  GgufWriter other = test::tiny_gguf(tiny_config(Architecture::llama));
  other.put("tokenizer.ggml.tokens", std::vector<std::string>(17, "x"));
  expect_input_error([&] { from_gguf(other); }, {"'llama.vocab_size' is 40", "17, the number of tokens", "ggml.tokens"});
}

TEST(ConfigGguf, NamesWhatIsMissing) {
  expect_input_error([] { from_gguf(GgufWriter()); }, {"model.gguf", "'general.architecture' is missing"});
  for (const char* key : {"block_count", "context_length", "embedding_length", "feed_forward_length", "attention.head_count",
                          "attention.layer_norm_rms_epsilon"}) {
    GgufWriter writer;
    writer.put("general.architecture", "llama").put("llama.vocab_size", 40u);
    for (const char* other :
         {"block_count", "context_length", "embedding_length", "feed_forward_length", "attention.head_count"}) {
      if (std::string(other) != key) writer.put(std::string("llama.") + other, 32u);
    }
    expect_input_error([&] { from_gguf(writer); }, {"model.gguf", std::string("'llama.") + key + "' is missing"});
  }
}

TEST(ConfigGguf, NamesAnUnknownArchitecture) {
  GgufWriter writer;
  writer.put("general.architecture", "gemma2");
  expect_input_error([&] { from_gguf(writer); }, {"'general.architecture' is 'gemma2'", "llama, qwen2 or qwen3"});
  GgufWriter number;
  number.put("general.architecture", 3u);
  expect_input_error([&] { from_gguf(number); }, {"'general.architecture' is u32", "expected text"});
}

TEST(ConfigGguf, RefusesBadSizes) {
  const auto expect = [](void (*change)(ModelConfig&), std::initializer_list<std::string_view> parts) {
    ModelConfig config = tiny_config(Architecture::llama);
    change(config);
    expect_input_error([&] { from_gguf(test::tiny_gguf_metadata(config)); }, parts);
  };
  expect([](ModelConfig& c) { c.layers = 0; }, {"'llama.block_count' is 0", "1 to"});
  expect([](ModelConfig& c) { c.layers = 1 << 30; }, {"'llama.block_count' is 1073741824"});
  expect([](ModelConfig& c) { c.hidden = 0xffffffff; }, {"'llama.embedding_length' is 4294967295"});
  expect([](ModelConfig& c) { c.ffn = 0; }, {"'llama.feed_forward_length' is 0"});
  expect([](ModelConfig& c) { c.q_heads = 0; }, {"'llama.attention.head_count' is 0"});
  expect([](ModelConfig& c) { c.kv_heads = 0; }, {"'llama.attention.head_count_kv' is 0"});
  expect([](ModelConfig& c) { c.kv_heads = 3; }, {"attention heads is 4", "a multiple of the 3"});
  expect([](ModelConfig& c) { c.head_dim = 7; }, {"the size of a head is 7", "even"});
  expect([](ModelConfig& c) { c.head_dim = 1 << 20; }, {"'llama.attention.key_length'"});
  expect(
      [](ModelConfig& c) {
        c.q_heads = 1 << 14;
        c.kv_heads = 1;
        c.head_dim = 4096;
      },
      {"the width of all heads is 67108864"});
  expect([](ModelConfig& c) { c.vocab = 0; }, {"'llama.vocab_size' is 0"});
  expect([](ModelConfig& c) { c.context = 0; }, {"'llama.context_length' is 0"});
  expect([](ModelConfig& c) { c.norm_epsilon = 0; }, {"'llama.attention.layer_norm_rms_epsilon' is 0"});
  expect([](ModelConfig& c) { c.norm_epsilon = NAN; }, {"'llama.attention.layer_norm_rms_epsilon' is nan"});
  expect([](ModelConfig& c) { c.rope_theta = INFINITY; }, {"'llama.rope.freq_base' is inf"});
  expect([](ModelConfig& c) { c.rope_theta = -1; }, {"'llama.rope.freq_base' is -1"});
}

TEST(ConfigGguf, HeadSizeDefaultsToHiddenOverHeads) {
  const auto minimal = [](uint32_t hidden) {
    GgufWriter writer;
    writer.put("general.architecture", "qwen2").put("qwen2.block_count", 1u).put("qwen2.context_length", 64u);
    writer.put("qwen2.embedding_length", hidden).put("qwen2.feed_forward_length", 64u).put("qwen2.attention.head_count", 4u);
    writer.put("qwen2.attention.layer_norm_rms_epsilon", 1e-6f).put("qwen2.vocab_size", 9u);
    return writer;
  };
  const ModelConfig config = from_gguf(minimal(48));
  EXPECT_EQ(config.head_dim, 12);
  EXPECT_EQ(config.kv_heads, 4);
  EXPECT_EQ(config.rope_theta, 10000);
  expect_input_error([&] { from_gguf(minimal(50)); }, {"'qwen2.embedding_length' is 50", "a multiple of the 4 heads"});
  expect_input_error([&] { from_gguf(minimal(2)); }, {"'qwen2.embedding_length' is 2"});
}

TEST(ConfigGguf, RefusesWhatWouldChangeTheResult) {
  const auto with = [](auto change) {
    GgufWriter writer = test::tiny_gguf_metadata(tiny_config(Architecture::llama));
    change(writer);
    return from_gguf(writer);
  };
  expect_input_error([&] { with([](GgufWriter& w) { w.put("llama.expert_count", 8u); }); },
                     {"'llama.expert_count' is 8", "mixture of experts"});
  expect_input_error([&] { with([](GgufWriter& w) { w.put("llama.attention.sliding_window", 4096u); }); },
                     {"sliding_window' is 4096"});
  expect_input_error([&] { with([](GgufWriter& w) { w.put("llama.rope.dimension_count", 4u); }); },
                     {"'llama.rope.dimension_count' is 4", "8"});
  with([](GgufWriter& w) { w.put("llama.expert_count", 0u).put("llama.rope.dimension_count", 8u); });
}

TEST(ConfigGguf, RopeScaling) {
  const auto with = [](const char* type, float factor) {
    GgufWriter writer = test::tiny_gguf_metadata(tiny_config(Architecture::llama));
    if (type[0] != 0) writer.put("llama.rope.scaling.type", type);
    writer.put("llama.rope.scaling.factor", factor);
    return from_gguf(writer);
  };
  for (const char* type : {"none", "linear", ""}) with(type, 1);
  with("none", 4);
  expect_input_error([&] { with("linear", 4); }, {"'llama.rope.scaling.type' is 'linear' with a factor of 4", "not supported"});
  expect_input_error([&] { with("yarn", 2); }, {"'yarn' with a factor of 2"});
  expect_input_error([&] { with("yarn", 1); }, {"'yarn'", "not supported"});
  expect_input_error([&] { with("", 2); }, {"'linear' with a factor of 2"});
  expect_input_error([&] { with("longrope", 1); }, {"'longrope'"});
  GgufWriter old = test::tiny_gguf_metadata(tiny_config(Architecture::llama));
  old.put("llama.rope.scale_linear", 8.0f);
  expect_input_error([&] { from_gguf(old); }, {"'linear' with a factor of 8"});
}

// ---- Hugging Face ----

TEST(ConfigHf, ReadsEachArchitecture) {
  for (const Architecture architecture : kAll) {
    for (const bool tied : {true, false}) {
      const ModelConfig made = tiny_config(architecture, tied);
      const ModelConfig read = from_hf(tiny_config_json(made));
      expect_same(read, made);
      EXPECT_EQ(read.name, "tiny");
      EXPECT_FALSE(read.rope_interleaved);
    }
  }
}

TEST(ConfigHf, Names) {
  EXPECT_EQ(from_hf_with(R"("_name_or_path":"Qwen/Qwen3-0.6B")").name, "Qwen3-0.6B");
  EXPECT_EQ(from_hf_with(R"("_name_or_path":"/models/Llama/")").name, "Llama");
  EXPECT_EQ(from_hf_with(R"("_name_or_path":"")").name, "tiny");
}

TEST(ConfigHf, Defaults) {
  const ModelConfig config = from_hf(R"({"model_type":"qwen2","hidden_size":64,"intermediate_size":96,"num_hidden_layers":1,
    "num_attention_heads":4,"vocab_size":10,"max_position_embeddings":32,"rope_scaling":null,"head_dim":null})");
  EXPECT_EQ(config.architecture, Architecture::qwen2);
  EXPECT_EQ(config.kv_heads, 4);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.norm_epsilon, 1e-6);
  EXPECT_EQ(config.rope_theta, 10000);
  EXPECT_FALSE(config.tied_head);
}

TEST(ConfigHf, Llama3RopeScaling) {
  const std::string scaling = R"({"factor":32.0,"high_freq_factor":4.0,"low_freq_factor":1.0,
    "original_max_position_embeddings":8192,"rope_type":"llama3"})";
  const ModelConfig config = from_hf_with("\"rope_theta\":500000.0,\"rope_scaling\":" + scaling);
  ASSERT_TRUE(config.rope_scaling.has_value());
  EXPECT_EQ(config.rope_theta, 500000);
  EXPECT_EQ(config.rope_scaling->factor, 32);
  EXPECT_EQ(config.rope_scaling->low_freq_factor, 1);
  EXPECT_EQ(config.rope_scaling->high_freq_factor, 4);
  EXPECT_EQ(config.rope_scaling->original_context, 8192);

  const ModelConfig moved = from_hf_with(R"("rope_parameters":{"rope_theta":500000,"rope_type":"llama3","factor":8,
    "high_freq_factor":4,"low_freq_factor":1,"original_max_position_embeddings":8192})");
  EXPECT_EQ(moved.rope_theta, 500000);
  EXPECT_EQ(moved.rope_scaling->factor, 8);

  expect_input_error([] { from_hf_with(R"("rope_scaling":{"rope_type":"llama3","factor":8})"); },
                     {"'rope_scaling.low_freq_factor' is missing"});
  expect_input_error(
      [] {
        from_hf_with(R"("rope_scaling":{"rope_type":"llama3","factor":8,"low_freq_factor":4,
    "high_freq_factor":4,"original_max_position_embeddings":8192})");
      },
      {"'rope_scaling.high_freq_factor' is 4", "more than"});
  expect_input_error(
      [] {
        from_hf_with(R"("rope_scaling":{"rope_type":"llama3","factor":8,"low_freq_factor":1,
    "high_freq_factor":4})");
      },
      {"'rope_scaling.original_max_position_embeddings' is 0"});
}

TEST(ConfigHf, OtherRopeScalings) {
  for (const char* harmless :
       {R"({"rope_type":"default"})", R"({"type":"linear","factor":1.0})", R"({"type":"default"})", "{}", "null"}) {
    EXPECT_FALSE(from_hf_with(std::string("\"rope_scaling\":") + harmless).rope_scaling.has_value());
  }
  EXPECT_EQ(from_hf_with(R"("rope_parameters":{"rope_theta":1000000.0,"rope_type":"default"})").rope_theta, 1e6);
  expect_input_error([] { from_hf_with(R"("rope_scaling":{"type":"yarn","factor":4.0})"); },
                     {"'rope_scaling' is 'yarn' with a factor of 4"});
  // Without a factor it is the context over the original one.
  expect_input_error([] { from_hf_with(R"("rope_scaling":{"type":"yarn"})"); }, {"'rope_scaling' is 'yarn'", "not supported"});
  expect_input_error([] { from_hf_with(R"("rope_scaling":{"type":"linear","factor":2})"); }, {"'linear' with a factor of 2"});
  expect_input_error([] { from_hf_with(R"("rope_scaling":{"rope_type":"longrope"})"); }, {"'longrope'"});
  expect_input_error([] { from_hf_with(R"("rope_parameters":{"rope_type":"yarn","factor":4})"); },
                     {"'rope_parameters' is 'yarn'"});
  expect_input_error([] { from_hf_with(R"("rope_parameters":{"partial_rotary_factor":0.5})"); },
                     {"'partial_rotary_factor' is 0.5"});
}

TEST(ConfigHf, NamesAnUnknownArchitecture) {
  expect_input_error([] { from_hf_with(R"("architectures":["Gemma2ForCausalLM"])"); },
                     {"'architectures' is 'Gemma2ForCausalLM'", "LlamaForCausalLM, Qwen2ForCausalLM or Qwen3ForCausalLM"});
  expect_input_error([] { from_hf(R"({"model_type":"mamba"})"); }, {"'model_type' is 'mamba'"});
  expect_input_error([] { from_hf("{}"); }, {"'models/tiny/config.json'", "'architectures' is missing"});
}

TEST(ConfigHf, RefusesWhatWouldChangeTheResult) {
  expect_input_error([] { from_hf_with(R"("attention_bias":true)"); }, {"'attention_bias' is true"});
  expect_input_error([] { from_hf_with(R"("attention_bias":true)", Architecture::qwen3); }, {"'attention_bias' is true"});
  expect_input_error([] { from_hf_with(R"("mlp_bias":true)"); }, {"'mlp_bias' is true"});
  expect_input_error([] { from_hf_with(R"("use_sliding_window":true)", Architecture::qwen2); },
                     {"'use_sliding_window' is true", "sliding window"});
  expect_input_error([] { from_hf_with(R"("layer_types":["full_attention","sliding_attention"])"); },
                     {"'layer_types' is 'sliding_attention'"});
  expect_input_error([] { from_hf_with(R"("hidden_act":"gelu")"); }, {"'hidden_act' is 'gelu'"});
  expect_input_error([] { from_hf_with(R"("quantization_config":{"quant_method":"gptq"})"); },
                     {"'quantization_config' is 'gptq'"});
  from_hf_with(R"("attention_bias":false,"mlp_bias":false,"use_sliding_window":false,"sliding_window":4096)");
}

TEST(ConfigHf, RefusesBadSizes) {
  expect_input_error([] { from_hf_with(R"("hidden_size":0)"); }, {"'hidden_size' is 0"});
  expect_input_error([] { from_hf_with(R"("hidden_size":-32)"); }, {"'hidden_size' is -32"});
  expect_input_error([] { from_hf_with(R"("hidden_size":1152921504606846976)"); }, {"'hidden_size' is 1152921504606846976"});
  expect_input_error([] { from_hf_with(R"("hidden_size":"32")"); }, {"'hidden_size' is '32'; expected an integer"});
  expect_input_error([] { from_hf_with(R"("num_hidden_layers":1e3)"); }, {"'num_hidden_layers' is 1000", "an integer"});
  expect_input_error([] { from_hf_with(R"("num_key_value_heads":3)"); }, {"a multiple of the 3"});
  expect_input_error([] { from_hf_with(R"("head_dim":9)"); }, {"the size of a head is 9"});
  expect_input_error([] { from_hf_with(R"("rms_norm_eps":-1)"); }, {"'rms_norm_eps' is -1"});
  expect_input_error([] { from_hf_with(R"("rope_theta":0)"); }, {"'rope_theta' is 0"});
  expect_input_error([] { from_hf("{\"architectures\""); }, {"config.json", "JSON"});
}

// ---- Frequencies and sizes ----

TEST(RopeFrequencies, ArePowersOfTheta) {
  ModelConfig config = tiny_config(Architecture::llama);
  config.head_dim = 64;
  config.rope_theta = 100000;
  const std::vector<float> frequencies = rope_frequencies(config);
  ASSERT_EQ(frequencies.size(), 32u);
  EXPECT_EQ(frequencies[0], 1.0f);
  for (size_t i = 0; i < 32; ++i)
    EXPECT_FLOAT_EQ(frequencies[i], static_cast<float>(std::exp(-std::log(1e5) * static_cast<double>(i) / 32)));
}

// By wavelength, as transformers writes it; the code works by turns within the original context.
TEST(RopeFrequencies, Llama3ScalingSlowsLongWaves) {
  const ModelConfig config = shipped_config("llama-3.2-1b");
  const std::vector<float> scaled = rope_frequencies(config);
  ModelConfig plain = config;
  plain.rope_scaling.reset();
  const std::vector<float> base = rope_frequencies(plain);
  constexpr double kPi = 3.14159265358979323846;
  int kept = 0, blended = 0, slowed = 0;
  for (size_t i = 0; i < scaled.size(); ++i) {
    const double wavelength = 2 * kPi / base[i];
    if (wavelength < 8192.0 / 4) {
      EXPECT_EQ(scaled[i], base[i]);
      ++kept;
    } else if (wavelength > 8192.0 / 1) {
      EXPECT_FLOAT_EQ(scaled[i], base[i] / 32);
      ++slowed;
    } else {
      const double smooth = (8192 / wavelength - 1) / (4 - 1);
      EXPECT_FLOAT_EQ(scaled[i], static_cast<float>((1 - smooth) * base[i] / 32 + smooth * base[i]));
      ++blended;
    }
  }
  EXPECT_EQ(kept + blended + slowed, 32);
  EXPECT_GT(kept, 0);
  EXPECT_GT(blended, 0);
  EXPECT_GT(slowed, 0);
}

TEST(ShippedConfigs, HaveTheParametersOfTheirModels) {
  // Counts of the public checkpoints, from the models' cards and their files' sizes.
  const std::pair<const char*, int64_t> expected[] = {
      {"qwen2.5-0.5b", 494032768}, {"qwen2.5-1.5b", 1543714304}, {"qwen2.5-7b", 7615616512},   {"qwen3-0.6b", 596049920},
      {"qwen3-8b", 8190735360},    {"llama-3.2-1b", 1235814400}, {"llama-3.1-8b", 8030261248}, {"smollm2-135m", 134515008}};
  ASSERT_EQ(shipped_configs().size(), std::size(expected));
  for (const auto& [id, parameters] : expected) EXPECT_EQ(shipped_config(id).parameters(), parameters) << id;
  for (const std::string& id : shipped_configs()) EXPECT_FALSE(shipped_config(id).name.empty());
}

TEST(ShippedConfigs, AnUnknownNameListsThem) {
  expect_input_error([] { shipped_config("gpt-5"); }, {"'gpt-5'", "qwen2.5-0.5b", "smollm2-135m"});
}

}  // namespace
}  // namespace rafter
