#include "rafter/report/op_sentences.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace rafter {

namespace {

struct Sentence {
  std::string_view name, text;
};

constexpr std::array kByName = {
    Sentence{"embed", "Looks the token's row up in the embedding table."},
    Sentence{"attention_norm", "Scales the token's vector to unit mean square before attention."},
    Sentence{"ffn_norm", "Scales the token's vector to unit mean square before the feed-forward."},
    Sentence{"final_norm", "Scales the token's vector to unit mean square before the head."},
    Sentence{"qkv", "Multiplies the normalised vector by the query, key and value weights, in one matrix."},
    Sentence{"rope_kv", "Turns queries and keys by the token's position and puts key and value into the cache."},
    Sentence{"attention", "Weighs every cached token by query times key and adds up their values, head by head."},
    Sentence{"attention_out", "Mixes the heads' results and adds them to the token's vector."},
    Sentence{"ffn_gate_up", "Multiplies by the gate and up weights and keeps silu(gate) times up."},
    Sentence{"ffn_down", "Brings the feed-forward back to the vector's size and adds it."},
    Sentence{"head", "Multiplies by the whole vocabulary: one logit for each token that may come next."},
    Sentence{"argmax", "Takes the highest logit: the next token."},
    Sentence{"advance", "Moves the token and its position on, on the GPU, so that the next step needs no host."},
};

constexpr std::array<std::string_view, kOpKindCount> kByKind = {
    "Looks rows up in a table.",
    "Scales vectors to unit mean square.",
    "Multiplies by a matrix of weights.",
    "Turns queries and keys by position and fills the cache.",
    "Attention of a prompt's tokens over those before them.",
    "Attention of one token over the cache.",
    "silu(gate) times up.",
    "Takes the highest of a row.",
    "Moves token and position on.",
};

}  // namespace

std::string what_it_does(const std::string& name, OpKind kind) {
  const auto found = std::find_if(kByName.begin(), kByName.end(), [&](const Sentence& s) { return s.name == name; });
  return std::string(found != kByName.end() ? found->text : kByKind[static_cast<size_t>(kind)]);
}

}  // namespace rafter
