// Usage: fuzz_seeds FOLDER. Writes FOLDER/{gguf,safetensors,tokenizer_json,ncu_csv,profile_json,recording}/*: valid files,
// small so that the fuzzer is quick. Each is read before it is written: a seed that a reader refuses at its first line leads
// the fuzzer nowhere.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "rafter/formats/gguf.h"
#include "rafter/formats/safetensors.h"
#include "rafter/formats/tokenizer.h"
#include "rafter/measure/profiles/ncu_csv.h"
#include "rafter/measure/profiles/pytorch_trace.h"
#include "rafter/measure/profiles/rafter_json.h"
#include "rafter/measure/recording/recording_file.h"
#include "rafter/measure/recording/recording_writer.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/profile_files.h"
#include "tests/support/recording_events.h"
#include "tests/support/tiny_model.h"

namespace {

using namespace rafter;
namespace fs = std::filesystem;

void write(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

void write(const fs::path& path, const test::Bytes& bytes) {
  write(path, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void write_model(const fs::path& path, const test::Bytes& bytes, bool with_tokenizer) {
  const GgufFile file(bytes, path.filename().string());
  config_from_gguf(file);
  if (with_tokenizer) Tokenizer::from_gguf(file);
  write(path, bytes);
}

void write_config(const fs::path& path, const std::string& json) {
  config_from_hf(json, path.filename().string());
  write(path, json);
}

void write_tokenizer(const fs::path& path, const std::string& json) {
  Tokenizer::from_json(json);
  write(path, json);
}

// One layer, eight wide: a whole model of every architecture in a few kilobytes.
ModelConfig smallest(Architecture architecture) {
  ModelConfig config = test::tiny_config(architecture, architecture != Architecture::qwen2);
  config.layers = 1;
  config.hidden = 8;
  config.ffn = 8;
  config.q_heads = 2;
  config.kv_heads = 1;
  config.head_dim = 4;
  config.vocab = 8;
  return config;
}

constexpr Architecture kAll[] = {Architecture::llama, Architecture::qwen2, Architecture::qwen3};
const std::vector<std::string> kTokens = {"H", "e", "l", "o", "\xc4\xa0", "He", "ll", "<|im_end|>"};
const std::vector<std::string> kMerges = {"H e", "l l"};

void write_gguf(const fs::path& folder) {
  for (const Architecture architecture : kAll) {
    const std::string name(rafter::name(architecture));
    test::GgufWriter model = test::tiny_gguf(smallest(architecture));
    write_model(folder / (name + ".gguf"), model.bytes(), false);
    model.put("tokenizer.ggml.model", "gpt2").put("tokenizer.ggml.tokens", kTokens).put("tokenizer.ggml.merges", kMerges);
    model.put("tokenizer.ggml.token_type", std::vector<int32_t>{1, 1, 1, 1, 1, 1, 1, 3});
    model.put("tokenizer.ggml.pre", architecture == Architecture::llama ? "smollm" : "qwen2")
        .put("tokenizer.ggml.eos_token_id", 7u);
    write_model(folder / (name + "-tokenizer.gguf"), model.bytes(), true);
  }
  test::GgufWriter types;
  types.put("a", 1u).put("b", -1).put("c", 0.5f).put("d", true).put("e", uint64_t{1}).put("f", 0.5).put("g", "text");
  types.put("h", std::vector<float>{1, 2}).put("general.alignment", 64u);
  types.alignment = 64;
  for (const DType type : {DType::f16, DType::bf16, DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q8_0,
                           DType::q4_k, DType::q5_k, DType::q6_k}) {
    const int64_t row = info(type).block_elements;
    types.add(std::string(name(type)), type, {static_cast<uint64_t>(row), 1, 1, 1},
              test::random_bytes(1, row_bytes(type, row)));
  }
  const test::Bytes bytes = types.bytes();
  const GgufFile read(bytes, "types.gguf");
  write(folder / "types.gguf", bytes);
}

void write_safetensors(const fs::path& folder) {
  test::SafetensorsWriter writer;
  writer.add("a", "F32", {2, 2}, test::random_f32(1, 4)).add("b", "F16", {4}, test::random_bytes(1, 8));
  writer.add("c", "BF16", {1, 2, 1, 1}, test::random_bytes(1, 4));
  const test::Bytes three = writer.bytes();
  const SafetensorsFile read(three, "three.safetensors");
  write(folder / "three.safetensors", three);
  write(folder / "empty.safetensors", test::SafetensorsWriter::with_header("{}", {}));
  write(folder / "index.json",
        R"({"metadata":{"total_size":8},"weight_map":{"a":"model-1.safetensors","b":"model-2.safetensors"}})");
  for (const Architecture architecture : kAll) {
    write_config(folder / (std::string(name(architecture)) + ".json"), test::tiny_config_json(smallest(architecture)));
  }
  write_config(folder / "rope.json",
               test::tiny_config_json(smallest(Architecture::llama),
                                      R"(,"rope_scaling":{"factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,
    "original_max_position_embeddings":8192,"rope_type":"llama3"},"layer_types":["full_attention"],"attention_bias":false)"));
}

std::string tokenizer_json(std::string_view normalizer, std::string_view pre_tokenizer, std::string_view merges) {
  return fmt::format(R"({{"version":"1.0","added_tokens":[{{"id":7,"content":"<|im_end|>","single_word":false,"lstrip":false,
    "rstrip":false,"normalized":false,"special":true}},{{"id":8,"content":"<tool>","lstrip":true,"rstrip":true,"normalized":true}}],
    "normalizer":{},"pre_tokenizer":{},"post_processor":{{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false}},
    "decoder":{{"type":"ByteLevel"}},"model":{{"type":"BPE","dropout":null,"unk_token":null,"byte_fallback":false,
    "ignore_merges":true,"vocab":{{"H":0,"e":1,"l":2,"o":3,"Ġ":4,"He":5,"ll":6}},"merges":{}}}}})",
                     normalizer, pre_tokenizer, merges);
}

void write_tokenizers(const fs::path& folder) {
  const std::string byte_level = R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})";
  const std::string no_regex = R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false})";
  const auto split = [&](std::string_view regex) {
    return fmt::format(
        R"({{"type":"Sequence","pretokenizers":[{{"type":"Split","pattern":{{"Regex":"{}"}},"behavior":"Isolated",
      "invert":false}},{}]}})",
        regex, no_regex);
  };
  const std::string qwen = split(
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)");
  const std::string llama = split(
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)");
  const std::string smollm =
      R"({"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},)" + byte_level + "]}";
  write_tokenizer(folder / "gpt2.json", tokenizer_json("null", byte_level, R"(["H e","l l"])"));
  write_tokenizer(folder / "smollm.json", tokenizer_json("null", smollm, R"([["H","e"],["l","l"]])"));
  write_tokenizer(folder / "qwen.json", tokenizer_json(R"({"type":"NFC"})", qwen, R"(["H e","l l"])"));
  write_tokenizer(folder / "llama.json", tokenizer_json("null", llama, R"(["H e","l l"])"));
}

void write_ncu_tables(const fs::path& folder) {
  const std::string details = "==PROF== Connected\n" + test::details_titles() +
                              test::details_row("0", "void copy<float>(float*)", "Duration", "us", "1,234.5") +
                              test::details_row("0", "void copy<float>(float*)", "Memory Throughput", "Gbyte/second", "2.5");
  const std::string raw = test::csv_row({"ID", "Kernel Name", "gpu__time_duration.sum", "dram__bytes_read.sum"}) +
                          test::csv_row({"", "", "nsecond", "byte"}) + test::csv_row({"0", "gemm", "1.234,5", "1.000.000"});
  for (const auto& [name, text] : {std::pair{"details.csv", details}, std::pair{"raw.csv", raw}}) {
    read_ncu_csv(text, name);
    write(folder / name, text);
  }
}

void write_profile_json(const fs::path& folder) {
  const std::string_view trace =
      R"({"distributedInfo":{"rank":1,"world_size":2},"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":1,"dur":9,
    "args":{"External id":5,"Input Dims":[[4,5],[5,6]],"Input Strides":[[5,1],[0,1]],"Input type":["float","float"]}},
    {"ph":"X","cat":"kernel","name":"k<float>","ts":2,"dur":3,"args":{"External id":5,"device":0,"stream":7,"grid":[1,1,1],
    "block":[32,1,1]}},{"ph":"X","cat":"cpu_op","name":"aten::_scaled_dot_product_flash_attention","ts":1,"dur":9,"args":{
    "External id":6,"Input Dims":[[1,4,9,8],[1,2,9,8],[1,2,9,8],[],[],[]],"Input type":["float","float","float","Scalar","Scalar",
    "Scalar"],"Concrete Inputs":["","","","0.","True","False"]}},{"ph":"X","cat":"kernel","name":"f","ts":6,"dur":3,
    "args":{"External id":6}},{"ph":"X","cat":"cpu_op","name":"aten::cat","ts":1,"dur":9,"args":{"External id":7,
    "Input Dims":[[[2,3],[4,3]],[]],"Input type":["TensorList","Scalar"],"Concrete Inputs":["","0"]}},{"ph":"X","cat":"kernel",
    "name":"c<OpaqueType<4u>>","ts":9,"dur":3,"args":{"External id":7}}]})";
  const std::string_view results =
      R"({"schema":"rafter.results/1","machine":{"name":"x"},"rows":[{"op":"sum","impl":"a","shape":{"n":3},"median_s":1e-6}]})";
  read_pytorch_trace(trace, "trace.json");
  read_rafter_json(results, "results.json");
  write(folder / "trace.json", trace);
  write(folder / "results.json", results);
}

void write_recording(const fs::path& folder) {
  const fs::path path = folder / "every_kind.rec";
  fs::create_directories(folder);
  fs::remove(path);
  RecordingNote about;
  about.command = "python train.py";
  about.device = "NVIDIA H200";
  {
    RecordingWriter writer(path.c_str());
    writer.write_note(about);
    writer.take_name(0, "kernel<int>(float*)");
    writer.take_name(1, "cudaLaunchKernel");
    for (int i = 0; i < 20; ++i) writer.take(test::made_up_event(i, 2));
    writer.close(about);
  }
  test::KeepingSink sink;
  read_recording(path.string(), sink);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr << "usage: fuzz_seeds FOLDER\n";
    return 2;
  }
  write_gguf(fs::path(argv[1]) / "gguf");
  write_safetensors(fs::path(argv[1]) / "safetensors");
  write_tokenizers(fs::path(argv[1]) / "tokenizer_json");
  write_ncu_tables(fs::path(argv[1]) / "ncu_csv");
  write_profile_json(fs::path(argv[1]) / "profile_json");
  write_recording(fs::path(argv[1]) / "recording");
} catch (const std::exception& error) {
  std::cerr << "fuzz_seeds: a seed is not valid: " << error.what() << '\n';
  return 1;
}
