// From a model to a Plan: the ops of one step, for prefill of any length and for decode.
//
// The plan names its values, and whoever runs it binds them by name: weights by the names of their stored tensors, and
//   tokens, positions   i32 [T]                what is fed and where it stands; state, so that decode can move them on
//   block_table         i32 [sequences, pages] input
//   rope_frequencies    f32 [head_dim / 2]     weight
//   cache_k.N, cache_v.N [pages, kv_heads, 16, head_dim] state, one pair a layer
//   logits              f32 [rows, vocab]      output
//   next                i32 [T]                output: the greedy choice
#pragma once

#include "rafter/models/checkpoint.h"
#include "rafter/ops/plan.h"

namespace rafter {

enum class LogitRows : uint8_t { none, last, all };

struct StepSpec {
  OpKind attention = OpKind::attention_decode;  // decode: T sequences of one token; prefill: one sequence of T
  int64_t tokens = 1;                           // T
  LogitRows logits = LogitRows::last;           // decode gives a row for every sequence unless none
  bool greedy = false;                          // decode: end with argmax and advance
  int64_t pages_per_sequence = 1;               // width of the block table
  int64_t cache_pages = 1;                      // pages of each cache
  DType activation = DType::f32;
  DType cache = DType::f32;
};

Plan build_step(const ModelConfig& config, const ModelTensors& tensors, const StepSpec& spec);

// What a device computes in: f32 for weights that are f32 or quantised and for everything on the CPU, else the weights'
// own 16-bit type. Caches: f32 for f32 weights, f16 for quantised ones, else the weights' type.
DType activation_dtype(DType weights, DeviceKind device);
DType cache_dtype(DType weights);

}  // namespace rafter
