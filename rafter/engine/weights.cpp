#include "rafter/engine/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "rafter/base/error.h"
#include "rafter/base/threads.h"
#include "rafter/kernels/random/random.h"
#include "rafter/models/tensor_names.h"
#include "rafter/ops/block_formats.h"

namespace rafter {

namespace {

constexpr int64_t kStagingBytes = 32 << 20;
constexpr uint64_t kSeed = 0x5eed;

bool aligned_in_place(const StoredTensor& tensor) {
  const uintptr_t alignment = is_quantised(tensor.dtype) ? 2 : static_cast<uintptr_t>(info(tensor.dtype).block_bytes);
  return reinterpret_cast<uintptr_t>(tensor.data) % alignment == 0;
}

// Whether a matrix is used where the file is mapped.
bool stays_in_place(const StoredTensor& tensor, DeviceKind device) {
  return device == DeviceKind::cpu && tensor.data != nullptr && aligned_in_place(tensor);
}

}  // namespace

// Loads tensor after tensor; on a GPU two staging buffers take turns, one being filled while the other is copied.
class Weights::Loader {
 public:
  Loader(Weights& weights, const Checkpoint& checkpoint, Device& device, const LoadProgress& progress)
      : weights_(weights), checkpoint_(checkpoint), device_(device), progress_(progress), stream_(device.make_stream()) {
    for (Staging& staging : staging_) {
      staging.done = stream_->make_event();
      if (on_gpu() && !checkpoint.is_random()) staging.memory = PinnedBuffer(device, kStagingBytes);
    }
  }

  void load() {
    const ModelTensors& model = checkpoint_.tensors();
    matrix(model.embedding);
    for (const LayerTensors& layer : model.layers) {
      for (const StoredTensor* m : {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down}) matrix(*m);
      for (const StoredTensor* v : {&layer.attention_norm, &layer.ffn_norm, &layer.q_norm, &layer.k_norm})
        vector({v}, 0.9f, 1.1f);
      vector({&layer.q_bias, &layer.k_bias, &layer.v_bias}, -0.1f, 0.1f);
    }
    vector({&model.final_norm}, 0.9f, 1.1f);
    matrix(model.head);
    frequencies(model.rope_factors);
    stream_->synchronize();
  }

 private:
  struct Staging {
    PinnedBuffer memory;
    std::unique_ptr<Event> done;
    bool busy = false;
  };

  bool on_gpu() const { return device_.id().kind == DeviceKind::cuda; }

  Tensor allocate(const std::string& name, DType dtype, const Shape& shape) {
    Buffer buffer(device_, shape.rows() * row_bytes(dtype, shape.last()));
    const Tensor tensor = buffer.tensor(dtype, shape);
    weights_.device_bytes_ += buffer.bytes();
    weights_.buffers_.push_back(std::move(buffer));
    weights_.tensors_[name] = tensor;
    return tensor;
  }

  void matrix(const StoredTensor& stored) {
    if (weights_.tensors_.contains(stored.name)) return;  // a tied head
    if (stored.data == nullptr) {
      const Tensor tensor = allocate(stored.name, stored.dtype, stored.shape);
      // Variance 1 / (3 K) keeps the activations' size through the layers.
      const float bound = 1.0f / std::sqrt(static_cast<float>(stored.shape.last()));
      fill_uniform(tensor, kSeed + weights_.tensors_.size(), -bound, bound, *stream_);
    } else if (stays_in_place(stored, device_.id().kind)) {
      weights_.tensors_[stored.name] =
          Tensor::contiguous(stored.dtype, stored.shape, const_cast<std::byte*>(stored.data), device_.id());
    } else {
      upload(stored.data, allocate(stored.name, stored.dtype, stored.shape));
    }
    loaded_ += stored.bytes;
    if (progress_)
      progress_(static_cast<double>(loaded_) / static_cast<double>(std::max<int64_t>(1, checkpoint_.weight_bytes())));
  }

  void upload(const std::byte* source, const Tensor& target) {
    const int64_t total = target.bytes();
    if (!on_gpu()) return stream_->copy_in(target.data, source, total);
    for (int64_t offset = 0; offset < total; offset += kStagingBytes) {
      const int64_t bytes = std::min(kStagingBytes, total - offset);
      Staging& staging = staging_[turn_++ % 2];
      if (staging.busy) staging.done->wait();
      stage(source + offset, bytes, staging.memory.as<std::byte>());
      stream_->copy_in(static_cast<std::byte*>(target.data) + offset, staging.memory.as<std::byte>(), bytes);
      stream_->record(*staging.done);
      staging.busy = true;
    }
  }

  // By all threads: what bounds one is not the copy but the page faults of a file not yet mapped in.
  static void stage(const std::byte* source, int64_t bytes, std::byte* target) {
    cpu_threads().for_range(bytes, 1 << 20, [&](int64_t begin, int64_t end) {
      std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
    });
  }

  // One or more vectors, one after the other as f32 under the first one's name. Random ones lie between low and high.
  void vector(const std::vector<const StoredTensor*>& parts, float low, float high) {
    if (parts[0]->name.empty()) return;
    int64_t length = 0;
    for (const StoredTensor* part : parts) length += part->shape.elements();
    const Tensor tensor = allocate(parts[0]->name, DType::f32, {length});
    if (parts[0]->data == nullptr) return fill_uniform(tensor, kSeed + weights_.tensors_.size(), low, high, *stream_);
    std::vector<float> values(static_cast<size_t>(length));
    float* out = values.data();
    for (const StoredTensor* part : parts) {
      decode_row(part->dtype, part->data, part->shape.elements(), out);
      out += part->shape.elements();
    }
    put(tensor, values);
  }

  void frequencies(const StoredTensor& factors) {
    std::vector<float> values = rope_frequencies(checkpoint_.config());
    if (!factors.name.empty()) {
      std::vector<float> divisors(values.size());
      decode_row(factors.dtype, factors.data, factors.shape.elements(), divisors.data());
      for (size_t i = 0; i < values.size(); ++i) values[i] /= divisors[i];
    }
    put(allocate("rope_frequencies", DType::f32, {static_cast<int64_t>(values.size())}), values);
  }

  void put(const Tensor& tensor, const std::vector<float>& values) {
    stream_->copy_in(tensor.data, values.data(), tensor.bytes());
    stream_->synchronize();  // `values` is about to go; vectors are few and small
  }

  Weights& weights_;
  const Checkpoint& checkpoint_;
  Device& device_;
  const LoadProgress& progress_;
  std::unique_ptr<Stream> stream_;
  Staging staging_[2];
  size_t turn_ = 0;
  int64_t loaded_ = 0;
};

Weights::Weights(const Checkpoint& checkpoint, Device& device, const LoadProgress& progress) {
  Loader(*this, checkpoint, device, progress).load();
}

int64_t Weights::device_bytes_needed(const Checkpoint& checkpoint, DeviceKind device) {
  int64_t bytes = static_cast<int64_t>(rope_frequencies(checkpoint.config()).size() * sizeof(float));
  for_each_tensor(checkpoint.tensors(), [&](const StoredTensor& tensor) {
    if (tensor.name == checkpoint.tensors().rope_factors.name) return;  // they go into the frequencies
    if (tensor.shape.rank() == 1) {
      bytes += tensor.shape.elements() * static_cast<int64_t>(sizeof(float));
    } else if (!stays_in_place(tensor, device)) {
      bytes += tensor.bytes;
    }
  });
  return bytes;
}

const Tensor& Weights::at(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw input_error({"the weight '" + name + "'", "not loaded"});
  return found->second;
}

}  // namespace rafter
