// What this binary was built from and for.
#pragma once

#include <string_view>

namespace rafter {

struct BuildInfo {
  std::string_view version;      // "0.1.0"
  std::string_view commit;       // of the sources, in full; "unknown" outside a git checkout
  bool dirty = false;            // tracked sources differed from the commit
  std::string_view cuda;         // the toolkit's version; empty in a CPU-only build
  std::string_view cuda_archs;   // "90a"; empty in a CPU-only build
  std::string_view why_no_cuda;  // "no nvcc on PATH ..."; empty where there is CUDA
  std::string_view compiler;     // "GNU 12.2.0"
  std::string_view build_type;   // "Release"
};

const BuildInfo& build_info();

}  // namespace rafter
