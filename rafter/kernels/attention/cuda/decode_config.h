// Into how many parts attention_decode cuts a sequence's keys.
//
// The grid is fixed when a plan is built: a number of splits from the shapes alone. How many keys a split takes is worked
// out on the device from the real length, so that a short context in a long block table keeps few splits busy and the
// rest leave at once. Both follow from shapes and the row's own length, so a row's result does not depend on its
// neighbours in the batch.
#pragma once

#include <cstdint>
#include <optional>

namespace rafter::attention {

struct DecodeConfig {
  // Measured in a chained step on an H200 at 512 keys: 8 warps beat 4 by 8% of the step, 2 pages the others by under 1%.
  int warps = 8;          // of a block, one page at a time each: 4 or 8
  int min_pages = 2;      // that a split takes at the least
  int max_splits = 128;   // more make the joining slower than the splitting saves
  int blocks_per_sm = 3;  // that are expected to fit
};

// For sweeps: used in the place of the defaults where set.
std::optional<DecodeConfig>& decode_override();

DecodeConfig decode_config();

// Splits of each sequence: the fewest that fill the last wave of blocks nearly as well as any number would.
// `rows` are the blocks that one split makes (sequences times KV heads), `width` the pages of a block table's row.
int decode_splits(const DecodeConfig& config, int64_t rows, int64_t width, int multiprocessors);

}  // namespace rafter::attention
