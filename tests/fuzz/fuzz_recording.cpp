// A recording's file: as it is, and with the checksums of its chunks put right, so that what lies behind them is reached.
#include <cstring>
#include <vector>

#include "rafter/measure/recording/recording_file.h"
#include "rafter/measure/recording/recording_format.h"
#include "tests/fuzz/fuzz.h"

using namespace rafter;

namespace {

class DroppingSink : public RecordingSink {
 public:
  void take_name(uint32_t, std::string_view) override {}
  void take(const RecordedEvent&) override {}
};

void put_checksums_right(std::vector<uint8_t>& file) {
  recording_format::ChunkHeader header;
  for (size_t at = recording_format::kOpening.size(); at + sizeof header <= file.size();) {
    std::memcpy(&header, file.data() + at, sizeof header);
    if (header.bytes > file.size() - at - sizeof header) return;
    header.checksum = recording_format::checksum(file.data() + at + sizeof header, header.bytes);
    std::memcpy(file.data() + at, &header, sizeof header);
    at += sizeof header + header.bytes;
  }
}

void read(const uint8_t* data, size_t size) {
  fuzz::expect_only_input_errors([&] {
    DroppingSink sink;
    read_recording(fuzz::as_bytes(data, size), "fuzz", sink);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  read(data, size);
  std::vector<uint8_t> file(data, data + size);
  put_checksums_right(file);
  read(file.data(), file.size());
  return 0;
}
