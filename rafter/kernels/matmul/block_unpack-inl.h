// Block formats unpacked: for each group of 32 along K, the quantised weights of kLanes rows as bytes (a row a lane, four
// weights to a 32-bit word) and their scales as floats. All loads are of 16 bytes inside the blocks, at any alignment.
//
// A weight is scale * (byte - offset) + minimum; offset is the format's (dot products take it off in integers), minimum
// is 0 but for `affine` kinds. A `split` group has another factor for each half: scale * multiplier[i / 16] * (...).
//
// Compiled once per Highway target; not for HWY_SCALAR.
#if defined(RAFTER_KERNELS_MATMUL_BLOCK_UNPACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RAFTER_KERNELS_MATMUL_BLOCK_UNPACK_INL_H_
#undef RAFTER_KERNELS_MATMUL_BLOCK_UNPACK_INL_H_
#else
#define RAFTER_KERNELS_MATMUL_BLOCK_UNPACK_INL_H_
#endif

#include "rafter/kernels/row_lanes-inl.h"
#include "rafter/ops/block_formats.h"

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace rafter {
namespace HWY_NAMESPACE {

enum class Kind { affine, symmetric, split };

struct Group {
  VecU word[8];  // weights 4i .. 4i + 3
  VecF scale, minimum;
  VecI multiplier[2];
  HWY_INLINE Group() {}  // spelled out so that GCC compiles it for the target
};

HWY_INLINE VecU and_bytes(VecU v, uint32_t mask) { return hn::And(v, hn::Set(TagU(), mask)); }

// 16 bytes of nibbles: the low ones are the group's first half, the high ones its second.
HWY_INLINE void set_nibbles(const VecU n[4], Group& group) {
  for (int i = 0; i < 4; ++i) {
    group.word[i] = and_bytes(n[i], 0x0f0f0f0fu);
    group.word[i + 4] = and_bytes(hn::ShiftRight<4>(n[i]), 0x0f0f0f0fu);
  }
}

// Bit j of `high` becomes bit 4 of byte j of the group: each byte of a word tests one bit of the byte of `high` it needs.
HWY_INLINE void add_fifth_bits(VecU high, Group& group) {
  const hn::Repartition<uint8_t, TagU> d8;
  alignas(16) static constexpr uint8_t kFirstBytes[16] = {0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12};
  const auto first = hn::LoadDup128(d8, kFirstBytes), bytes = hn::BitCast(d8, high);
  const auto low_bits = hn::BitCast(d8, hn::Set(TagU(), 0x08040201u)),
             high_bits = hn::BitCast(d8, hn::Set(TagU(), 0x80402010u));
  for (int i = 0; i < 8; i += 2) {
    const auto copies = hn::TableLookupBytes(bytes, hn::Add(first, hn::Set(d8, static_cast<uint8_t>(i / 2))));
    const auto low = hn::IfThenElseZero(hn::TestBit(copies, low_bits), hn::Set(d8, 16));
    const auto up = hn::IfThenElseZero(hn::TestBit(copies, high_bits), hn::Set(d8, 16));
    group.word[i] = hn::Or(group.word[i], hn::BitCast(TagU(), low));
    group.word[i + 1] = hn::Or(group.word[i + 1], hn::BitCast(TagU(), up));
  }
}

struct FormatQ4_0 {
  static constexpr Kind kKind = Kind::symmetric;
  static constexpr int kBlockBytes = sizeof(BlockQ4_0), kGroupsPerBlock = 1, kOffset = 8;
};
struct FormatQ4_1 {
  static constexpr Kind kKind = Kind::affine;
  static constexpr int kBlockBytes = sizeof(BlockQ4_1), kGroupsPerBlock = 1, kOffset = 0;
};
struct FormatQ5_0 {
  static constexpr Kind kKind = Kind::symmetric;
  static constexpr int kBlockBytes = sizeof(BlockQ5_0), kGroupsPerBlock = 1, kOffset = 16;
};
struct FormatQ5_1 {
  static constexpr Kind kKind = Kind::affine;
  static constexpr int kBlockBytes = sizeof(BlockQ5_1), kGroupsPerBlock = 1, kOffset = 0;
};
struct FormatQ8_0 {
  static constexpr Kind kKind = Kind::symmetric;
  static constexpr int kBlockBytes = sizeof(BlockQ8_0), kGroupsPerBlock = 1, kOffset = 128;
};
struct FormatQ4_K {
  static constexpr Kind kKind = Kind::affine;
  static constexpr int kBlockBytes = sizeof(BlockQ4_K), kGroupsPerBlock = 8, kOffset = 0;
};
struct FormatQ5_K {
  static constexpr Kind kKind = Kind::affine;
  static constexpr int kBlockBytes = sizeof(BlockQ5_K), kGroupsPerBlock = 8, kOffset = 0;
};
struct FormatQ6_K {
  static constexpr Kind kKind = Kind::split;
  static constexpr int kBlockBytes = sizeof(BlockQ6_K), kGroupsPerBlock = 8, kOffset = 32;
};

HWY_INLINE void unpack_block(FormatQ4_0, const uint8_t* p, ptrdiff_t stride, Group& group) {
  group.scale = low_f16(load_words(p, stride).word[0]);
  set_nibbles(load_words(p + 2, stride).word, group);
}

HWY_INLINE void unpack_block(FormatQ4_1, const uint8_t* p, ptrdiff_t stride, Group& group) {
  const VecU scales = load_words(p, stride).word[0];
  group.scale = low_f16(scales);
  group.minimum = high_f16(scales);
  set_nibbles(load_words(p + 4, stride).word, group);
}

HWY_INLINE void unpack_block(FormatQ5_0, const uint8_t* p, ptrdiff_t stride, Group& group) {
  const Words start = load_words(p, stride);
  group.scale = low_f16(start.word[0]);
  set_nibbles(load_words(p + 6, stride).word, group);
  add_fifth_bits(hn::Or(hn::ShiftRight<16>(start.word[0]), hn::ShiftLeft<16>(start.word[1])), group);
}

HWY_INLINE void unpack_block(FormatQ5_1, const uint8_t* p, ptrdiff_t stride, Group& group) {
  const Words start = load_words(p, stride);
  group.scale = low_f16(start.word[0]);
  group.minimum = high_f16(start.word[0]);
  set_nibbles(load_words(p + 8, stride).word, group);
  add_fifth_bits(start.word[1], group);
}

HWY_INLINE void unpack_block(FormatQ8_0, const uint8_t* p, ptrdiff_t stride, Group& group) {
  group.scale = low_f16(load_words(p, stride).word[0]);
  const Words first = load_words(p + 2, stride), last = load_words(p + 18, stride);
  const VecU flip = hn::Set(TagU(), 0x80808080u);  // adds 128 to each byte
  for (int i = 0; i < 4; ++i) {
    group.word[i] = hn::Xor(first.word[i], flip);
    group.word[i + 4] = hn::Xor(last.word[i], flip);
  }
}

// Blocks of one group.
template <typename Format, typename Body>
HWY_INLINE void for_each_group(Format format, const uint8_t* rows, ptrdiff_t stride, int64_t first, int64_t last,
                               const Body& body) {
  for (int64_t g = first; g < last; ++g) {
    Group group;
    unpack_block(format, rows + g * Format::kBlockBytes, stride, group);
    body(g, group);
  }
}

HWY_INLINE Group group_q4_1(VecU scales, VecU n0, VecU n1, VecU n2, VecU n3) {
  Group group;
  group.scale = low_f16(scales);
  group.minimum = high_f16(scales);
  const VecU nibbles[4] = {n0, n1, n2, n3};
  set_nibbles(nibbles, group);
  return group;
}

// Four blocks are twenty 32-bit words, so that five loads bring scales and nibbles alike.
template <typename Body>
HWY_INLINE void for_each_group(FormatQ4_1 format, const uint8_t* rows, ptrdiff_t stride, int64_t first, int64_t last,
                               const Body& body) {
  int64_t g = first;
  for (; g + 4 <= last; g += 4) {
    const uint8_t* p = rows + g * FormatQ4_1::kBlockBytes;
    const Words a = load_words(p, stride), b = load_words(p + 16, stride);
    body(g, group_q4_1(a.word[0], a.word[1], a.word[2], a.word[3], b.word[0]));
    const Words c = load_words(p + 32, stride);
    body(g + 1, group_q4_1(b.word[1], b.word[2], b.word[3], c.word[0], c.word[1]));
    const Words d = load_words(p + 48, stride);
    body(g + 2, group_q4_1(c.word[2], c.word[3], d.word[0], d.word[1], d.word[2]));
    const Words e = load_words(p + 64, stride);
    body(g + 3, group_q4_1(d.word[3], e.word[0], e.word[1], e.word[2], e.word[3]));
  }
  for_each_group<FormatQ4_1, Body>(format, rows, stride, g, last, body);
}

// The 6-bit scales and minimums of Q4_K and Q5_K, as scale_and_minimum() decodes them: words 1..3 of the block.
template <int kGroup>
HWY_INLINE void set_k_scales(const Words& start, VecF d, VecF dmin, Group& group) {
  constexpr int kShift = 8 * (kGroup % 4);
  const auto byte = [](VecU v) HWY_ATTR { return and_bytes(hn::ShiftRight<kShift>(v), 255); };
  VecU scale = byte(start.word[1]), minimum = byte(start.word[2]);
  if constexpr (kGroup < 4) {
    scale = and_bytes(scale, 63);
    minimum = and_bytes(minimum, 63);
  } else {
    const VecU low = byte(start.word[3]);
    scale = hn::Or(and_bytes(low, 15), hn::ShiftLeft<4>(hn::ShiftRight<6>(scale)));
    minimum = hn::Or(hn::ShiftRight<4>(low), hn::ShiftLeft<4>(hn::ShiftRight<6>(minimum)));
  }
  group.scale = hn::Mul(d, hn::ConvertTo(TagF(), hn::BitCast(TagI(), scale)));
  group.minimum = hn::Neg(hn::Mul(dmin, hn::ConvertTo(TagF(), hn::BitCast(TagI(), minimum))));
}

// Groups 2 kPair and 2 kPair + 1 share 32 bytes of nibbles; `high`, where there is one, has bit g for group g.
template <bool kHigh, int kPair, typename Body>
HWY_INLINE void k_pairs(const uint8_t* nibbles, ptrdiff_t stride, const Words& start, VecF d, VecF dmin, const VecU* high,
                        int64_t g, const Body& body) {
  const Words n[2] = {load_words(nibbles + 32 * kPair, stride), load_words(nibbles + 32 * kPair + 16, stride)};
  Group low, up;
  set_k_scales<2 * kPair>(start, d, dmin, low);
  set_k_scales<2 * kPair + 1>(start, d, dmin, up);
  for (int i = 0; i < 8; ++i) {
    low.word[i] = and_bytes(n[i / 4].word[i % 4], 0x0f0f0f0fu);
    up.word[i] = and_bytes(hn::ShiftRight<4>(n[i / 4].word[i % 4]), 0x0f0f0f0fu);
    if constexpr (kHigh) {
      const VecU bits = hn::ShiftRight<2 * kPair>(high[i]);
      low.word[i] = hn::Or(low.word[i], hn::ShiftLeft<4>(and_bytes(bits, 0x01010101u)));
      up.word[i] = hn::Or(up.word[i], hn::ShiftLeft<3>(and_bytes(bits, 0x02020202u)));
    }
  }
  body(g + 2 * kPair, low);
  body(g + 2 * kPair + 1, up);
  if constexpr (kPair < 3) k_pairs<kHigh, kPair + 1>(nibbles, stride, start, d, dmin, high, g, body);
}

template <typename Body>
HWY_INLINE void for_each_group(FormatQ4_K, const uint8_t* rows, ptrdiff_t stride, int64_t first, int64_t last,
                               const Body& body) {
  for (int64_t g = first; g < last; g += 8) {
    const uint8_t* p = rows + g / 8 * FormatQ4_K::kBlockBytes;
    const Words start = load_words(p, stride);
    k_pairs<false, 0>(p + 16, stride, start, low_f16(start.word[0]), high_f16(start.word[0]), nullptr, g, body);
  }
}

template <typename Body>
HWY_INLINE void for_each_group(FormatQ5_K, const uint8_t* rows, ptrdiff_t stride, int64_t first, int64_t last,
                               const Body& body) {
  for (int64_t g = first; g < last; g += 8) {
    const uint8_t* p = rows + g / 8 * FormatQ5_K::kBlockBytes;
    const Words start = load_words(p, stride), high0 = load_words(p + 16, stride), high1 = load_words(p + 32, stride);
    VecU high[8];
    for (int i = 0; i < 4; ++i) {
      high[i] = high0.word[i];
      high[i + 4] = high1.word[i];
    }
    k_pairs<true, 0>(p + 48, stride, start, low_f16(start.word[0]), high_f16(start.word[0]), high, g, body);
  }
}

HWY_INLINE VecI signed_byte(VecU v, int byte) {
  return hn::ShiftRight<24>(hn::BitCast(TagI(), hn::ShiftLeftSame(v, 24 - 8 * byte)));
}

// Half a block of Q6_K: four groups from 64 bytes of low and 32 of high bits.
template <typename Body>
HWY_INLINE void q6_half(const uint8_t* p, ptrdiff_t stride, int half, VecF d, const Words& scales, int64_t g,
                        const Body& body) {
  const uint8_t* low = p + 64 * half;
  const uint8_t* high = p + 128 + 32 * half;
  const Words h[2] = {load_words(high, stride), load_words(high + 16, stride)};
  for (int k = 0; k < 4; ++k) {
    const Words n[2] = {load_words(low + k % 2 * 32, stride), load_words(low + k % 2 * 32 + 16, stride)};
    Group group;
    group.scale = d;
    group.multiplier[0] = signed_byte(scales.word[2 * half + k / 2], 2 * k % 4);
    group.multiplier[1] = signed_byte(scales.word[2 * half + k / 2], 2 * k % 4 + 1);
    for (int i = 0; i < 8; ++i) {
      const VecU four = k < 2 ? n[i / 4].word[i % 4] : hn::ShiftRight<4>(n[i / 4].word[i % 4]);
      const VecU two = and_bytes(hn::ShiftRightSame(h[i / 4].word[i % 4], 2 * k), 0x03030303u);
      group.word[i] = hn::Or(and_bytes(four, 0x0f0f0f0fu), hn::ShiftLeft<4>(two));
    }
    body(g + k, group);
  }
}

template <typename Body>
HWY_INLINE void for_each_group(FormatQ6_K, const uint8_t* rows, ptrdiff_t stride, int64_t first, int64_t last,
                               const Body& body) {
  for (int64_t g = first; g < last; g += 8) {
    const uint8_t* p = rows + g / 8 * FormatQ6_K::kBlockBytes;
    const Words scales = load_words(p + 192, stride);
    const VecF d = high_f16(load_words(p + 194, stride).word[3]);  // the block's last two bytes
    q6_half(p, stride, 0, d, scales, g, body);
    q6_half(p, stride, 1, d, scales, g + 4, body);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rafter
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR
#endif
