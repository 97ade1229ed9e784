// Short names and dtypes of the names that libraries really give their kernels.
#include "rafter/measure/profiles/kernel_name.h"

#include <gtest/gtest.h>

namespace rafter {
namespace {

TEST(KernelName, IsShortened) {
  const auto expect = [](std::string_view name, std::string_view brief) { EXPECT_EQ(short_kernel_name(name), brief) << name; };
  expect("saxpy", "saxpy");
  expect("saxpy(int, float, const float *, float *)", "saxpy");
  expect("void reduce::sum<float, 256>(const float *, float *, int)", "sum");
  expect("void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, false>(float *, const float *, int)",
         "softmax_warp_forward");
  expect("<unnamed>::tiled(const float *, float *)", "tiled");
  expect(
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char *, "
      "3>>(int, "
      "at::native::CUDAFunctor_add<float>, at::detail::Array<char *, 3>)",
      "vectorized_elementwise_kernel<CUDAFunctor_add>");
  expect(
      "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float>, unsigned int>>()",
      "reduce_kernel<ReduceOp>");
  expect("void at::native::elementwise_kernel<128, 2, int>(int, int)", "elementwise_kernel");
  expect(
      "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8>("
      "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8::Params)",
      "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8");
  expect("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int>, Epilogue>>(Params)",
         "GemmUniversal");
  expect("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn");
  expect(
      "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
      "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64");
  expect("triton_poi_fused_add_mul_0", "triton_poi_fused_add_mul_0");
  expect("matmul_kernel_0d1d2d3de4de5c6de7c", "matmul_kernel");
  expect("triton_red_fused_01", "triton_red_fused_01");
  expect("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm *, unsigned long, ncclWork *)",
         "ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
}

TEST(KernelName, OddNamesStayWhatTheyAre) {
  for (const std::string_view name : {"", "(", "<<<<", ">>>>", "((((", "::", "Memcpy DtoD"}) {
    EXPECT_LE(short_kernel_name(name).size(), std::max<size_t>(name.size(), 1)) << name;
  }
  EXPECT_EQ(short_kernel_name("::"), "::");
  EXPECT_EQ(short_kernel_name("f<g<h<1>"), "f") << "a template that is never closed";
  EXPECT_EQ(short_kernel_name(std::string(100000, '<')).size(), 100000u);
}

TEST(KernelName, TellsTheDtype) {
  const auto expect = [](std::string_view name, std::string_view dtype) {
    EXPECT_EQ(dtype_in_kernel_name(name), dtype) << name;
  };
  expect("ampere_sgemm_128x64_tn", "f32");
  expect("cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128", "bf16");
  expect("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", "bf16");
  expect("sm90_xmma_gemm_f16f16_f16f32_f32_tn_n", "f16");
  expect("ampere_fp16_s16816gemm_fp16_128x64", "f16");
  expect("cutlass_80_tensorop_s1688tf32gemm_256x128", "tf32");
  expect("cutlass_80_tensorop_s1688gemm_128x128_32x3_tn_align4", "tf32");
  expect("nvjet_sss_tf32_128x256_TNT", "tf32");
  expect("turing_fp16_s1688gemm_fp16_128x64", "f16");
  expect("sm90_xmma_gemm_e4m3e4m3_bf16f32_f32", "fp8_e4m3");
  expect("void f<__nv_bfloat16>(int)", "bf16");
  expect("void at::native::f<c10::BFloat16>()", "bf16");
  expect("void at::native::f<c10::Half, float>()", "f16");
  expect("void f<float>(float *)", "f32");
  expect("void f<double>(double *)", "f64");
  expect("sm80_xmma_gemm_i8i8_i8i32_f32", "int8");
  expect("rope", "");
  expect("cast<__half, __nv_bfloat16>", "");
}

TEST(KernelName, TellsTheBytesOfElementsWhoseTypeDoesNotMatter) {
  EXPECT_EQ(opaque_element_bytes("void CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int>()"),
            2);
  EXPECT_EQ(opaque_element_bytes("void f<OpaqueType<16>>()"), 16);
  for (const std::string_view none :
       {"void f<float>()", "OpaqueType<", "OpaqueType<x>", "OpaqueType<0>", "OpaqueType<99999999999>"}) {
    EXPECT_FALSE(opaque_element_bytes(none).has_value()) << none;
  }
}

TEST(KernelName, ControlCharactersAreBlanks) { EXPECT_EQ(clean_kernel_name("a\x01\nb\x7f\xc3\xa4"), "a  b \xc3\xa4"); }

}  // namespace
}  // namespace rafter
