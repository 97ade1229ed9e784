#include "rafter/measure/profiles/gzip_text.h"

#include <zlib.h>

#include <algorithm>

#include "rafter/base/error.h"

namespace rafter {

namespace {

constexpr size_t kMost = size_t{4} << 30;
constexpr size_t kAlwaysAllowed = size_t{64} << 20;
constexpr size_t kMostRatio = 100;
constexpr size_t kStep = size_t{1} << 20;
constexpr int kGzipWindow = 15 + 16;  // the largest window, and gzip's header

// zlib's state, released when it goes out of scope.
struct Inflater {
  z_stream stream{};
  bool ready = inflateInit2(&stream, kGzipWindow) == Z_OK;
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
};

[[noreturn]] void refuse_damage(const std::string& path, size_t at, const char* reason) {
  throw input_error(
      {fmt::format("{}: the gzip data at byte {}", in_quotes(path), at), reason, "a whole gzip file", "copy the file again"});
}

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b\x08"); }

std::string unpack_gzip(std::string_view bytes, const std::string& path) {
  const size_t most = std::min(kMost, std::max(kAlwaysAllowed, bytes.size() * kMostRatio));
  Inflater inflater;
  if (!inflater.ready) throw runtime_failure({"unpacking " + in_quotes(path), "not possible: zlib has no memory for it"});
  z_stream& stream = inflater.stream;
  std::string out, piece(kStep, '\0');
  size_t taken = 0;
  while (taken < bytes.size()) {
    const size_t offered = std::min(bytes.size() - taken, kStep);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + taken));
    stream.avail_in = static_cast<uInt>(offered);
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    const int status = inflate(&stream, Z_NO_FLUSH);
    taken += offered - stream.avail_in;
    out.append(piece.data(), piece.size() - stream.avail_out);
    if (out.size() > most) {
      throw input_error({in_quotes(path), fmt::format("{} bytes that unpack to more than {} MiB", bytes.size(), most >> 20),
                         "4 GiB or less, and 100 times the packed size or less", "profile fewer steps"});
    }
    if (status == Z_STREAM_END) {  // another member may follow; what is no member is padding
      if (!is_gzip(bytes.substr(taken))) return out;
      inflateReset(&stream);
    } else if (status != Z_OK) {
      refuse_damage(path, taken, status == Z_BUF_ERROR ? "cut off" : "damaged");
    }
  }
  refuse_damage(path, taken, "cut off");
}

}  // namespace rafter
