// What llama.cpp says about one text, through its public C API (llama.h), in a compact binary file.
//
//   dump MODEL TEXT_FILE OUT_FILE MAX_TOKENS GREEDY THREADS KV_TYPE
//
// The text is tokenized as llama.cpp does for a prompt: add_special = true (so the model's own add_bos decides whether a BOS
// goes first) and parse_special = true (so "<|im_start|>" is one token). At most MAX_TOKENS tokens are kept (0: all). They are
// decoded as one batch with logits at every position; then GREEDY further tokens are decoded one at a time. KV_TYPE is f16 or
// f32.
//
// OUT_FILE, little-endian:
//   u32 n_tokens, n_greedy, n_vocab, top_k, add_bos (what the model's own metadata asks for)
//   i32 tokens[n_tokens]
//   n_tokens times: f32 logsumexp over the whole vocabulary, f32 logit of the next token of the text (0 for the last),
//                   u32 ids[top_k], f32 logits[top_k]     by falling logit, ties by rising id
//   n_greedy times: i32 token, f32 margin (its logit less the runner-up's), i32 is_end_of_generation

#include "llama.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr uint32_t top_k = 64;

void check(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(what);
}

template <class T>
void put(std::ofstream& out, T value) {
  out.write(reinterpret_cast<const char*>(&value), sizeof value);
}

double log_sum_exp(const float* logits, int n) {
  const double top = *std::max_element(logits, logits + n);
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += std::exp(logits[i] - top);
  return top + std::log(sum);
}

std::vector<uint32_t> best(const float* logits, int n, uint32_t k) {
  std::vector<uint32_t> ids(n);
  std::iota(ids.begin(), ids.end(), 0u);
  std::partial_sort(ids.begin(), ids.begin() + k, ids.end(),
                    [&](uint32_t a, uint32_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
  ids.resize(k);
  return ids;
}

void decode(llama_context* context, const llama_token* tokens, int count, int first_position) {
  llama_batch batch = llama_batch_init(count, 0, 1);
  for (int i = 0; i < count; ++i) {
    batch.token[i] = tokens[i];
    batch.pos[i] = first_position + i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  batch.n_tokens = count;
  const int status = llama_decode(context, batch);
  llama_batch_free(batch);
  check(status == 0, "llama_decode failed");
}

int run(char** argv) {
  std::ifstream in(argv[2], std::ios::binary);
  check(in.good(), "cannot read TEXT_FILE");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const int max_tokens = std::atoi(argv[4]), greedy = std::atoi(argv[5]), threads = std::atoi(argv[6]);
  const bool kv_f32 = std::string(argv[7]) == "f32";
  check(kv_f32 || std::string(argv[7]) == "f16", "KV_TYPE must be f16 or f32");

  llama_log_set(
      [](ggml_log_level level, const char* line, void*) {
        if (level == GGML_LOG_LEVEL_WARN || level == GGML_LOG_LEVEL_ERROR) std::fputs(line, stderr);
      },
      nullptr);
  llama_backend_init();
  llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
  check(model, "cannot load MODEL");
  const llama_vocab* vocab = llama_model_get_vocab(model);
  const int n_vocab = llama_vocab_n_tokens(vocab);

  std::vector<llama_token> tokens(text.size() + 8);
  const int n = llama_tokenize(vocab, text.data(), int(text.size()), tokens.data(), int(tokens.size()), true, true);
  check(n > 0, "cannot tokenize the text");
  tokens.resize(max_tokens > 0 ? std::min(n, max_tokens) : n);
  const int n_tokens = int(tokens.size());

  llama_context_params params = llama_context_default_params();
  params.n_ctx = n_tokens + greedy + 1;
  params.n_batch = params.n_ctx;
  params.n_threads = params.n_threads_batch = threads;
  params.type_k = params.type_v = kv_f32 ? GGML_TYPE_F32 : GGML_TYPE_F16;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  llama_context* context = llama_init_from_model(model, params);
  check(context, "cannot make a context");

  std::ofstream out(argv[3], std::ios::binary);
  check(out.good(), "cannot write OUT_FILE");
  put<uint32_t>(out, n_tokens), put<uint32_t>(out, greedy), put<uint32_t>(out, n_vocab), put<uint32_t>(out, top_k);
  put<uint32_t>(out, llama_vocab_get_add_bos(vocab));
  for (llama_token t : tokens) put<int32_t>(out, t);

  decode(context, tokens.data(), n_tokens, 0);
  for (int i = 0; i < n_tokens; ++i) {
    const float* logits = llama_get_logits_ith(context, i);
    put<float>(out, float(log_sum_exp(logits, n_vocab)));
    put<float>(out, i + 1 < n_tokens ? logits[tokens[i + 1]] : 0.0f);
    const auto ids = best(logits, n_vocab, top_k);
    for (uint32_t id : ids) put<uint32_t>(out, id);
    for (uint32_t id : ids) put<float>(out, logits[id]);
  }

  const float* logits = llama_get_logits_ith(context, n_tokens - 1);
  for (int i = 0; i < greedy; ++i) {
    const auto ids = best(logits, n_vocab, 2);
    const llama_token token = llama_token(ids[0]);
    put<int32_t>(out, token), put<float>(out, logits[ids[0]] - logits[ids[1]]),
        put<int32_t>(out, llama_vocab_is_eog(vocab, token));
    decode(context, &token, 1, n_tokens + i);
    logits = llama_get_logits_ith(context, 0);
  }
  check(out.good(), "cannot write OUT_FILE");

  llama_free(context);
  llama_model_free(model);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) {
    std::fprintf(stderr, "usage: dump MODEL TEXT_FILE OUT_FILE MAX_TOKENS GREEDY THREADS KV_TYPE\n");
    return 2;
  }
  try {
    return run(argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "dump: %s\n", e.what());
    return 1;
  }
}
