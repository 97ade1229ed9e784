// Writes safetensors files, good and bad: the header can be given as any text.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/bytes.h"

namespace rafter::test {

class SafetensorsWriter {
 public:
  SafetensorsWriter& add(std::string_view name, std::string_view dtype, const std::vector<int64_t>& shape, const Bytes& data) {
    const size_t begin = data_.size();
    append(data_, data);
    entries_.push_back(fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", name, dtype,
                                   fmt::join(shape, ","), begin, data_.size()));
    return *this;
  }

  Bytes bytes() const {
    std::string header = fmt::format(R"({{"__metadata__":{{"format":"pt"}},{}}})", fmt::join(entries_, ","));
    while (header.size() % 8 != 0) header += ' ';
    return with_header(header, data_);
  }

  // A file of this header and data, whatever they are.
  static Bytes with_header(std::string_view header, const Bytes& data) {
    Bytes out;
    append(out, static_cast<uint64_t>(header.size()));
    append(out, header);
    append(out, data);
    return out;
  }

 private:
  std::vector<std::string> entries_;
  Bytes data_;
};

}  // namespace rafter::test
