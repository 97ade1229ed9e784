// attention: softmax(scale q k^T) v over a paged KV cache, grouped queries, causal by position.
//   token t attends to positions 0..positions[t] of its sequence; query head h reads KV head h / (q_heads / kv_heads)
// The step's own keys are in the cache already (rope_kv ran before). A position below 0 is a padding row: zeros. Slots
// past a token's position may hold anything, NaN included, and never reach the result.
//
// attention_prefill: one sequence (block_table has one row), positions consecutive.
// attention_decode: one token per sequence (block_table has T rows).
#pragma once

#include "rafter/ops/op_info.h"

namespace rafter::attention {

// q: f32, f16 or bf16 [T, q_heads head_dim]. Caches: f32, f16 or bf16 [pages, kv_heads, 16, head_dim].
// block_table: i32 [S, pages per sequence]. positions: i32 [T].
enum Input { q, k_cache, v_cache, block_table, positions };
enum Output { out };  // as q [T, q_heads head_dim]

void check(const OpView& op);
Cost cost(const OpView& op, const CostContext& context);  // causal prefill counts half
std::vector<Doubles> reference(const OpView& op);

}  // namespace rafter::attention
