// embed on the CPU: the naive step, one number at a time, and the list of all steps.
#include <algorithm>
#include <cstring>

#include "rafter/base/threads.h"
#include "rafter/kernels/embed/register.h"
#include "rafter/kernels/host_values.h"
#include "rafter/ops/block_formats.h"
#include "rafter/ops/embed.h"

namespace rafter {

namespace {

// A row is decoded in pieces of this many values (a multiple of every block), so that no scratch as wide as the row is
// needed.
constexpr int64_t kPiece = 256;

void embed_row(const Tensor& table, int64_t token, const Tensor& x, int64_t t) {
  const int64_t width = x.shape.last();
  if (token < 0 || token >= table.shape[0]) {
    std::memset(x.row(t), 0, static_cast<size_t>(row_bytes(x.dtype, width)));
    return;
  }
  float piece[kPiece];
  for (int64_t begin = 0; begin < width; begin += kPiece) {
    const int64_t count = std::min(kPiece, width - begin);
    decode_row(table.dtype, table.row(token) + row_bytes(table.dtype, begin), count, piece);
    for (int64_t i = 0; i < count; ++i) write_value(x.dtype, x.row(t), begin + i, piece[i]);
  }
}

void launch(const OpView& op, Stream&) {
  const Tensor &tokens = op.inputs[embed::tokens], &table = op.inputs[embed::table], &x = op.outputs[embed::x];
  cpu_threads().for_range(tokens.shape.last(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) embed_row(table, tokens.as<int32_t>()[t], x, t);
  });
}

}  // namespace

void register_embed_cpu(Registry& registry) {
  registry.add({.op = OpKind::embed,
                .device = DeviceKind::cpu,
                .name = "01_naive",
                .step = 1,
                .supports = [](const OpView&) { return true; },
                .launch = launch});
}

}  // namespace rafter
