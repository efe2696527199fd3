#include "tierup/kernels/memory/bound_outputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "tierup/base/error.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/tensor/allocator.h"

namespace tierup::kernels {
namespace {

// Whatever lay in a buffer may go: the memory is the caller's.
class BufferOwner final : public BlockOwner {
 public:
  void on_release(uint32_t) noexcept override {}
};

struct Extent {
  const char* begin;
  const char* end;
};

bool overlap(const Extent& a, const Extent& b) { return a.begin < b.end && b.begin < a.end; }

Extent storage_extent(const Tensor& tensor) {
  const auto* data = static_cast<const char*>(tensor.storage()->data());
  return {data, data + tensor.storage()->bytes()};
}

bool has_lazy_bits(const Tensor& tensor) {
  return tensor.impl()->conjugate || tensor.impl()->negative;
}

bool can_be_written(const Tensor& buffer) {
  const auto address = reinterpret_cast<uintptr_t>(buffer.raw());
  return buffer.numel() > 0 && buffer.is_contiguous() && !has_lazy_bits(buffer) &&
         address % kTensorAlignment == 0;
}

std::string describe(const Tensor& tensor) {
  return fmt::format("{}{}", dtype_name(tensor.dtype()), shape_string(tensor.sizes()));
}

}  // namespace

bool OutputPlaces::has(size_t output, uint32_t allocation) const {
  return std::ranges::any_of(outputs_[output].numbers, [&](const std::atomic<uint32_t>& number) {
    return number.load(std::memory_order_relaxed) == allocation;
  });
}

void OutputPlaces::learn(size_t output, uint32_t allocation) {
  if (has(output, allocation)) return;
  Places& places = outputs_[output];
  const uint32_t next = places.next.fetch_add(1, std::memory_order_relaxed);
  places.numbers[next % kPlaces].store(allocation, std::memory_order_relaxed);
}

void OutputPlaces::unlearn(size_t output, uint32_t allocation) {
  for (std::atomic<uint32_t>& number : outputs_[output].numbers) {
    uint32_t expected = allocation;  // Another run may have put another one there.
    number.compare_exchange_strong(expected, 0, std::memory_order_relaxed);
  }
}

BoundOutputs::BoundOutputs(OutputPlaces& places, std::span<const Tensor> outputs,
                           std::span<const IValue> inputs)
    : places_(places), outputs_(outputs), owner_(make_ref<BufferOwner>()) {
  const size_t count = std::min(outputs.size(), OutputPlaces::kMaxOutputs);
  for (size_t i = 0; i < count; ++i) {
    if (!outputs[i].defined() || !can_be_written(outputs[i])) continue;
    const auto* data = static_cast<const char*>(outputs[i].raw());
    const Extent extent = {data, data + outputs[i].bytes()};
    const auto meets_input = [&](const IValue& input) {
      return input.is_tensor() && overlap(extent, storage_extent(input.to_tensor()));
    };
    bool meets = std::ranges::any_of(inputs, meets_input);
    for (size_t k = 0; k < outputs.size() && !meets; ++k) {
      meets = k != i && outputs[k].defined() && overlap(extent, storage_extent(outputs[k]));
    }
    if (!meets) buffers_[i] = {outputs[i].raw(), outputs[i].bytes(), nullptr, 0};
  }
}

BoundOutputs::~BoundOutputs() {
  try {
    move_out();
  } catch (const std::exception&) {  // No memory to move it to: it stays where it is.
    owner_ = nullptr;
  }
}

Ref<Storage> BoundOutputs::Scope::allocate(size_t bytes) {
  if (bound_.is_asking_) return nullptr;
  // A plan's arena first: what it serves does not outlive the run.
  if (outer() != nullptr) {
    if (Ref<Storage> placed = outer()->allocate(bytes)) return placed;
  }
  return bound_.allocate(bytes);
}

void BoundOutputs::begin_run() {
  next_ = 1;
  seen_count_ = 0;
}

Ref<Storage> BoundOutputs::allocate(size_t bytes) {
  const uint32_t number = next_++;
  bool could_be_result = false;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    Buffer& buffer = buffers_[i];
    if (buffer.data == nullptr || buffer.bytes != bytes) continue;
    could_be_result = true;
    const bool is_free = buffer.handed == nullptr || buffer.handed->use_count() == 1;
    if (is_free && places_.has(i, number)) return hand_out(i, number);
  }
  if (!could_be_result) return nullptr;
  is_asking_ = true;
  Ref<Storage> storage = Storage::allocate(bytes);
  is_asking_ = false;
  seen_[seen_count_++ % kSeen] = {number, storage->data()};
  return storage;
}

Ref<Storage> BoundOutputs::hand_out(size_t output, uint32_t number) {
  Buffer& buffer = buffers_[output];
  buffer.number = number;
  buffer.handed =
      storage_of_block(owner_, static_cast<uint32_t>(output), buffer.data, buffer.bytes);
  return buffer.handed;
}

bool BoundOutputs::is_in_place(size_t output, const Tensor& result) const {
  return output < buffers_.size() && buffers_[output].handed != nullptr &&
         result.storage().get() == buffers_[output].handed.get() &&
         result.storage()->data() == buffers_[output].data && result.offset() == 0 &&
         result.is_contiguous() && !has_lazy_bits(result);
}

void BoundOutputs::check(const std::vector<IValue>& results) const {
  require(results.size() == outputs_.size(), ErrorCode::kInvalidArgument,
          "the model gives {} outputs, {} buffers were bound", results.size(), outputs_.size());
  for (size_t i = 0; i < results.size(); ++i) {
    require(results[i].is_tensor(), ErrorCode::kInvalidArgument,
            "output {} is a {}, which no buffer can take", i, results[i].tag_name());
    const Tensor result = results[i].to_tensor();
    const bool fits = result.dtype() == outputs_[i].dtype() &&
                      std::ranges::equal(result.sizes(), outputs_[i].sizes());
    if (!fits) {
      fail(ErrorCode::kInvalidArgument, "output {} is {}, its buffer {}", i, describe(result),
           describe(outputs_[i]));
    }
  }
}

// A place that was learnt for another plan and comes before the right one would keep the buffer
// from it in every run.
void BoundOutputs::unlearn(size_t output, const Tensor& result) {
  if (output >= buffers_.size()) return;
  const Buffer& buffer = buffers_[output];
  const bool was_wrong = buffer.handed != nullptr && result.storage() != buffer.handed;
  if (was_wrong) places_.unlearn(output, buffer.number);
}

void BoundOutputs::learn(size_t output, const Tensor& result) {
  if (output >= buffers_.size() || result.offset() != 0 || !result.is_contiguous()) return;
  for (const Buffer& other : buffers_) {
    const bool lies_there = other.handed != nullptr && result.storage() == other.handed;
    if (lies_there) return places_.learn(output, other.number);
  }
  const void* data = result.storage()->data();
  const size_t kept = std::min(seen_count_, kSeen);
  for (size_t back = 1; back <= kept; ++back) {  // The newest over this memory is the living one.
    const Seen& seen = seen_[(seen_count_ - back) % kSeen];
    if (seen.data == data) return places_.learn(output, seen.number);
  }
}

// What is still held by somebody else gets memory of its own: the buffer is the caller's again.
void BoundOutputs::move_out() {
  for (Buffer& buffer : buffers_) {
    if (buffer.handed == nullptr) continue;
    const bool is_held = buffer.handed->use_count() > 1;
    if (is_held && buffer.handed->data() == buffer.data) buffer.handed->resize(buffer.bytes);
    buffer.handed = nullptr;
  }
}

size_t BoundOutputs::finish(std::vector<IValue> results) {
  check(results);
  std::vector<Tensor> to_copy(results.size());
  size_t copies = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor result = results[i].to_tensor();
    if (is_in_place(i, result)) continue;
    unlearn(i, result);
    learn(i, result);
    to_copy[i] = result;
    ++copies;
  }
  results.clear();
  // A result that lies where another one will be written is taken out of the way first.
  for (Tensor& source : to_copy) {
    if (!source.defined()) continue;
    for (size_t i = 0; i < to_copy.size(); ++i) {
      const bool is_in_the_way =
          to_copy[i].defined() && overlap(storage_extent(source), storage_extent(outputs_[i]));
      if (is_in_the_way) source = clone(source);
    }
  }
  for (size_t i = 0; i < to_copy.size(); ++i) {
    if (to_copy[i].defined()) copy_into(outputs_[i], to_copy[i]);
  }
  to_copy.clear();
  move_out();
  return copies;
}

}  // namespace tierup::kernels
