// rope_kv: what lies between the QKV projection and attention. Per head of q and k an optional RMSNorm (Qwen3), then
// the rotary embedding at the token's position; q goes out, k and v go to their page of the cache.
//   angle = position * frequencies[i];  (a, b) -> (a cos - b sin, a sin + b cos) for each pair of a head
// J. Su et al., "RoFormer", 2021. Position p of sequence s is slot p % 16 of page block_table[s, p / 16].
// Token t belongs to sequence t where the table has T rows, and to sequence 0 where it has one. A position below 0 is a
// padding row: q gets zeros and nothing is written.
#pragma once

#include "rafter/ops/op_info.h"

namespace rafter {

inline constexpr int kPageTokens = 16;

namespace rope_kv {

// qkv: f32, f16 or bf16 [T, (q_heads + 2 kv_heads) head_dim], q heads first. positions: i32 [T].
// block_table: i32 [S, pages per sequence]. frequencies: f32 [head_dim / 2]. q_norm, k_norm: f32 [head_dim], optional.
enum Input { qkv, positions, block_table, frequencies, q_norm, k_norm };
// q: as qkv [T, q_heads head_dim]. Caches, in-out: f32, f16 or bf16 [pages, kv_heads, 16, head_dim].
enum Output { q, k_cache, v_cache };

void check(const OpView& op);
Cost cost(const OpView& op, const CostContext& context);
std::vector<Doubles> reference(const OpView& op);

}  // namespace rope_kv
}  // namespace rafter
