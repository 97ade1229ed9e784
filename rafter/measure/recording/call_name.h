// What a call of the CUDA runtime or driver does, by its name: "cudaLaunchKernel_v7000", "cuStreamSynchronize".
#pragma once

#include <string_view>

namespace rafter {

bool launches_work(std::string_view call);  // a kernel, a graph, a copy or a fill
bool waits_for_gpu(std::string_view call);

}  // namespace rafter
