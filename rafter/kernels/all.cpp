#include "rafter/kernels/all.h"

#include "rafter/kernels/activation/register.h"
#include "rafter/kernels/attention/register.h"
#include "rafter/kernels/embed/register.h"
#include "rafter/kernels/matmul/register.h"
#include "rafter/kernels/norm/register.h"
#include "rafter/kernels/rope/register.h"
#include "rafter/kernels/sample/register.h"

namespace rafter {

namespace {

Registry make_registry() {
  Registry registry;
  register_embed_cpu(registry);
  register_norm_cpu(registry);
  register_matmul_cpu(registry);
  register_rope_cpu(registry);
  register_attention_cpu(registry);
  register_activation_cpu(registry);
  register_sample_cpu(registry);
#ifdef RAFTER_WITH_CUDA
  register_embed_cuda(registry);
  register_norm_cuda(registry);
  register_matmul_cuda(registry);
  register_rope_cuda(registry);
  register_attention_cuda(registry);
  register_activation_cuda(registry);
  register_sample_cuda(registry);
#endif
  return registry;
}

}  // namespace

const Registry& registry() {
  static const Registry all = make_registry();
  return all;
}

}  // namespace rafter
