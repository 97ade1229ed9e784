// Numbers for people: SI units with three significant digits, and sizes in binary units.
#pragma once

#include <cstdint>
#include <string>

namespace rafter {

std::string format_seconds(double seconds);                    // "1.82 ms", "12.3 us"
std::string format_bytes(double bytes);                        // "98.4 MB", powers of 1000, for traffic
std::string format_capacity(int64_t bytes);                    // "139.8 GiB", powers of 1024, for memory sizes
std::string format_rate(double per_second, const char* unit);  // "1.70 TB/s", "722 TFLOP/s"
std::string format_si(double value, const char* unit);         // "3.11 GFLOP"
std::string format_share(double part, double whole);           // "12.5%"; "-" of nothing
std::string counted(int64_t count, const char* thing);         // "1 token", "0 tokens", "2 copies", "3 launches"

}  // namespace rafter
