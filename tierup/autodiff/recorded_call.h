// RecordedCall: what a backward pass needs of one call of a row: constants, sizes and dtypes of all
// tensors, and the tensors that the row's formula reads.
#pragma once

#include <memory>
#include <vector>

#include "tierup/base/inline_vector.h"
#include "tierup/ops/table/derivative.h"

namespace tierup::autodiff {

// A tensor of the forward, and how often it had been written when it was saved.
class SavedTensor {
 public:
  SavedTensor() = default;
  explicit SavedTensor(Tensor tensor)
      : tensor_(std::move(tensor)), storage_(tensor_.storage().get()), version_(now()) {}
  bool is_saved() const { return tensor_.defined(); }
  const Tensor& tensor() const { return tensor_; }
  // The count then, and now.
  uint32_t version() const { return version_; }
  uint32_t current_version() const { return now(); }
  // A tensor that was given other memory (set_data) counts as unwritten.
  bool is_stale() const {
    return is_saved() && now() != version_ && tensor_.storage().get() == storage_;
  }
  Ref<TensorImpl> take() { return std::move(tensor_).take(); }

 private:
  // Writes through a tensor that hides from the tape count for those who hold such a tensor.
  uint32_t now() const {
    const Ref<Storage>& storage = tensor_.storage();
    return tensor_.impl()->hides_writes ? storage->version() : storage->tape_version();
  }
  Tensor tensor_;
  const Storage* storage_ = nullptr;  // Compared alone.
  uint32_t version_ = 0;
};

// Throw kInvalidArgument, with PyTorch's words, for a saved value that was written since, and for
// values that a backward pass has freed. `origin`: ", which is output 0 of Exp,", or nothing;
// `reader`: whose derivative reads it.
[[noreturn]] void fail_overwritten(const SavedTensor& saved, const std::string& origin,
                                   const std::string& reader);
[[noreturn]] void fail_freed();

struct Layout {
  IntVector strides;
  int64_t offset = 0;
};

// One argument, one result, or an element of a list of tensors.
struct RecordedValue {
  enum class Kind : uint8_t { kConstant, kTensor, kTensorList };
  Kind kind = Kind::kConstant;
  bool wants_grad = false;  // Of a list: some element does.
  bool is_read = false;     // By the formula: found by the probe.
  ScalarType dtype = ScalarType::kFloat;
  InlineVector<int64_t, 4> sizes;
  IValue constant;  // None for tensors.
  SavedTensor saved;
  std::unique_ptr<std::vector<RecordedValue>> elements;
  std::unique_ptr<Layout> layout;  // Of rows whose derivative reads it.

  // Of sizes and dtype of a tensor, or of each of a list; anything else is a constant.
  explicit RecordedValue(const IValue& value);
};

struct RecordedCall {
  const ops::Op* op = nullptr;
  InlineVector<RecordedValue, 3> args;
  InlineVector<RecordedValue, 1> results;

  RecordedCall() = default;
  // Notes all arguments; wants_grad is left to the caller.
  RecordedCall(const ops::Op& row, std::span<const IValue> arguments);
  void note_results(std::span<const IValue> values);
};

}  // namespace tierup::autodiff
