#include "tierup/kernels/pointwise/pointwise.h"

#include <algorithm>
#include <cstring>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/cast.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/memory_reuse.h"
#include "tierup/kernels/memory/short_rows.h"
#include "tierup/kernels/memory/strided_loop.h"
#include "tierup/kernels/memory/turned_rows.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/memory/vector_casts.h"
#include "tierup/kernels/pointwise/parameter_fit.h"

namespace tierup::kernels {
namespace {

constexpr size_t kBlockBytes = 4096;

bool is_reduced(ScalarType type) {
  return type == ScalarType::kHalf || type == ScalarType::kBFloat16;
}

const Variant& variant_for(Body body, ScalarType common) {
  const ScalarType compute = is_reduced(common) ? ScalarType::kFloat : common;
  const Variant* variant = nullptr;
  if (compute <= ScalarType::kBool) variant = RunTable::instance().find(body, compute);
  if (variant == nullptr) fail_dtype(fmt::format("\"{}\"", body_name(body)), common);
  return *variant;
}

void store_scalar(ScalarType type, const Scalar& value, char* target) {
  dispatch_all(type, "scalar", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T element = convert_number<T>(value);
    std::memcpy(target, &element, sizeof(T));
  });
}

Scalar rounded_to(ScalarType type, const Scalar& value) {
  return dispatch_floating(type, "scalar", [&](auto tag) {
    return Scalar(static_cast<double>(convert_number<typename decltype(tag)::type>(value)));
  });
}

// Copies the first element of `block`, of `width` bytes, behind itself up to `count` elements, and
// up to the end of a piece.
constexpr int64_t kPiece = 64;
static_assert(kBlockBytes % kPiece == 0);
template <int64_t kWidth>
void fill_piece(char* piece, const char* value) {
  for (int64_t at = 0; at < kPiece; at += kWidth) std::memcpy(piece + at, value, kWidth);
}
void replicate(char* block, int64_t width, int64_t count) {
  std::array<char, kPiece> piece;
  switch (width) {
    case 1: fill_piece<1>(piece.data(), block); break;
    case 2: fill_piece<2>(piece.data(), block); break;
    case 4: fill_piece<4>(piece.data(), block); break;
    case 8: fill_piece<8>(piece.data(), block); break;
    default: fill_piece<16>(piece.data(), block);
  }
  for (int64_t at = 0; at < width * count; at += kPiece)
    std::memcpy(block + at, piece.data(), kPiece);
}

// How one operand gets into dense form.
struct Source {
  ScalarType compute;         // What the run reads.
  int64_t width;              // Bytes of that.
  CastRun cast = nullptr;     // From the tensor's dtype; null for a number.
  CastRun round = nullptr;    // From the tensor's dtype to the common reduced dtype, before `cast`.
  DenseCast dense = nullptr;  // What `cast` does with dense elements, if there is vector code.
  int64_t from_width = 0;     // Bytes of the tensor's elements.
  bool same_type = false;     // Dense elements can be read in place.
  int operand = -1;           // Index among the loop's operands; -1: a number.
  Scalar number;
};

// Everything a run over one range needs; made once a call.
struct Job {
  const Variant* variant;
  ScalarType common;
  ScalarType out_type;
  CastRun out_cast;  // Null if the run may write in place.
  DenseCast out_dense = nullptr;
  std::array<Source, kMaxInputs> sources;
  int64_t block;  // Elements.
};

constexpr int64_t kRoundWidth = 2;  // Of f16 and bf16.

// Dense elements of one source for elements [start, start + count) of the run.
const char* load_block(const Source& source, const Job& job, char* const* pointers,
                       const int64_t* strides, int64_t start, int64_t count, char* buffer) {
  char* from = pointers[source.operand] + start * strides[source.operand];
  const int64_t step = strides[source.operand];
  if (source.same_type && step == source.width) return from;
  if (source.same_type && source.width == sizeof(float) && step % source.width == 0) {
    take_strided(buffer, from, step / source.width, count);
    return buffer;
  }
  if (source.round == nullptr) {
    if (source.dense != nullptr && step == source.from_width) {
      source.dense(buffer, from, count);
      return buffer;
    }
    char* const ends[2] = {buffer, from};
    const int64_t steps[2] = {source.width, step};
    source.cast(ends, steps, count);
    return buffer;
  }
  alignas(64) char rounded[kBlockBytes];
  char* const first[2] = {rounded, from};
  const int64_t first_steps[2] = {kRoundWidth, step};
  source.round(first, first_steps, count);
  char* const second[2] = {buffer, rounded};
  const int64_t second_steps[2] = {source.width, kRoundWidth};
  cast_run(source.compute, job.common)(second, second_steps, count);
  return buffer;
}

// Fills the blocks of sources that are the same for all elements of a run: numbers and broadcasts.
void load_constants(const Job& job, char* const* pointers, const int64_t* strides, int64_t count,
                    char (*buffers)[kBlockBytes], const char** in) {
  const int64_t filled = std::min(count, job.block);
  for (size_t k = 0; k < job.variant->arity; ++k) {
    const Source& source = job.sources[k];
    if (source.operand < 0) {
      store_scalar(source.compute, source.number, buffers[k]);
    } else if (strides[source.operand] == 0) {
      const char* value = load_block(source, job, pointers, strides, 0, 1, buffers[k]);
      TIERUP_CHECK(value == buffers[k]);
    } else {
      continue;
    }
    replicate(buffers[k], source.width, filled);
    in[k] = buffers[k];
  }
}

void run_job(const Job& job, char* const* pointers, const int64_t* strides, int64_t count) {
  const Variant& variant = *job.variant;
  const auto out_width = static_cast<int64_t>(item_size(job.out_type));
  bool dense = job.out_cast == nullptr && strides[0] == out_width;
  const bool writes_in_place = dense;
  std::array<const char*, kMaxInputs> in;
  for (size_t k = 0; k < variant.arity; ++k) {
    const Source& source = job.sources[k];
    dense =
        dense && source.operand >= 0 && source.same_type && strides[source.operand] == source.width;
    if (dense) in[k] = pointers[source.operand];
  }
  if (dense) {
    variant.run(pointers[0], in.data(), count);
    return;
  }
  alignas(64) char buffers[kMaxInputs + 1][kBlockBytes];
  char* const result = buffers[kMaxInputs];
  load_constants(job, pointers, strides, count, buffers, in.data());
  const auto run_width = static_cast<int64_t>(item_size(variant.out));
  for (int64_t start = 0; start < count; start += job.block) {
    const int64_t n = std::min(job.block, count - start);
    for (size_t k = 0; k < variant.arity; ++k) {
      const Source& source = job.sources[k];
      if (source.operand < 0 || strides[source.operand] == 0) continue;
      in[k] = load_block(source, job, pointers, strides, start, n, buffers[k]);
    }
    char* const target = pointers[0] + start * strides[0];
    if (writes_in_place) {
      variant.run(target, in.data(), n);
      continue;
    }
    variant.run(result, in.data(), n);
    if (job.out_dense != nullptr && strides[0] == out_width) {
      job.out_dense(target, result, n);
      continue;
    }
    char* const ends[2] = {target, result};
    const int64_t steps[2] = {strides[0], run_width};
    cast_run(job.out_type, variant.out)(ends, steps, n);
  }
}

// Rows of which operands are one number each, or dense, without any of them written out.
class NumberedRows {
 public:
  NumberedRows(const Job& job, const StridedLoop& loop) : job_(job), loop_(loop) {}

  bool apply() const {
    const auto out_width = static_cast<int64_t>(item_size(job_.out_type));
    if (job_.variant->rows == nullptr || job_.out_cast != nullptr) return false;
    if (loop_.inner_stride(0) != out_width || loop_.inner_size() < kLeastCount) return false;
    bool has_numbers = false;
    for (size_t k = 0; k < job_.variant->arity; ++k) {
      const Source& source = job_.sources[k];
      if (stands(source)) {
        has_numbers = true;
      } else if (loop_.inner_stride(static_cast<size_t>(source.operand)) != source.width) {
        return false;
      }
      if (source.operand >= 0 && !source.same_type) return false;
    }
    return has_numbers;
  }

  void run() const {
    loop_.run_rows(kNumbersForThread, [&](const StridedLoop::Rows& rows) { run_rows(rows); });
  }

 private:
  // Shorter rows are brought together instead.
  static constexpr int64_t kLeastCount = 16;

  bool stands(const Source& source) const {
    return source.operand < 0 || loop_.inner_stride(static_cast<size_t>(source.operand)) == 0;
  }

  void run_rows(const StridedLoop::Rows& rows) const {
    alignas(16) char numbers[kMaxInputs][16];
    BlockRows block{.out = rows.pointers[0],
                    .in = {},
                    .stands = {},
                    .count = rows.count,
                    .rows = rows.runs,
                    .out_step = rows.run_strides[0],
                    .in_steps = {}};
    for (size_t k = 0; k < job_.variant->arity; ++k) {
      const Source& source = job_.sources[k];
      block.stands[k] = stands(source);
      if (source.operand < 0) {
        store_scalar(source.compute, source.number, numbers[k]);
        block.in[k] = numbers[k];
      } else {
        block.in[k] = rows.pointers[source.operand];
        block.in_steps[k] = rows.run_strides[source.operand];
      }
    }
    job_.variant->rows(block);
  }

  const Job& job_;
  const StridedLoop& loop_;
};

// Over runs that are short, operands that do not lie as the result does are brought together block
// by block first.
class GatheredBlocks {
 public:
  // `widths`: of the loop's operands, the result first.
  GatheredBlocks(const Job& job, const StridedLoop& loop, std::span<const int64_t> widths)
      : job_(job), loop_(loop), widths_(widths) {
    for (size_t k = 0; k < widths.size(); ++k) is_dense_[k] = loop.is_dense(k, widths[k]);
  }

  // Where an operand is one number for each run, it is written out for each anyhow; several runs of
  // a block are then done as one.
  bool pays() const {
    if (loop_.rank() < 2 || !is_dense_[0]) return false;
    bool has_numbers = false;
    for (size_t k = 1; k < widths_.size(); ++k)
      has_numbers = has_numbers || loop_.inner_stride(k) == 0;
    return loop_.inner_size() < (has_numbers ? job_.block / kRunsOfBlock : kShortRow);
  }

  void run() const {
    parallel_for(0, loop_.numel(), kNumbersForThread, [&](int64_t begin, int64_t end) {
      for (int64_t first = begin; first < end; first += job_.block)
        run_block(first, std::min(job_.block, end - first));
    });
  }

 private:
  static constexpr int64_t kRunsOfBlock = 4;

  void run_block(int64_t first, int64_t count) const {
    alignas(64) char gathered[kMaxInputs][kBlockBytes];
    std::array<char*, kMaxInputs + 1> pointers;
    for (size_t k = 0; k < widths_.size(); ++k) {
      if (is_dense_[k]) {
        pointers[k] = loop_.base(k) + first * widths_[k];
      } else {
        pointers[k] = gathered[k - 1];
        loop_.gather(k, widths_[k], first, count, pointers[k]);
      }
    }
    run_job(job_, pointers.data(), widths_.data(), count);
  }

  const Job& job_;
  const StridedLoop& loop_;
  std::span<const int64_t> widths_;
  std::array<bool, kMaxInputs + 1> is_dense_{};
};

ScalarType result_dtype(const Variant& variant, ScalarType common) {
  return is_reduced(common) && variant.out == ScalarType::kFloat ? common : variant.out;
}

// In the memory of a dying operand, if one is exactly as the result is to be.
Tensor make_result(Operands operands, ScalarType dtype, DyingOperands dying) {
  const IntVector shape = broadcast_shape(operands);
  std::array<const Tensor*, kMaxInputs> inputs;
  size_t count = 0;
  for (const Operand& operand : operands) {
    if (operand.is_tensor()) inputs[count++] = &operand.tensor;
  }
  const std::span<const Tensor* const> tensors(inputs.data(), count);
  if (dying == 0) return empty_pointwise(shape, dtype, tensors);
  const IntVector strides = pointwise_strides(shape, tensors);
  for (size_t k = 0; k < operands.size(); ++k) {
    if ((dying >> k & 1U) == 0) continue;
    Tensor reused = reuse_memory(operands[k].tensor, dtype, shape, strides);
    if (reused.defined()) return reused;
  }
  return Tensor::empty_strided(shape, strides, dtype);
}

}  // namespace

ScalarType common_dtype(const PointwiseOp& op, Operands operands) {
  if (op.common) return *op.common;
  if (op.promote == Promote::kBool) return ScalarType::kBool;
  TypePromotion promotion;
  const size_t count = op.promoted == 0 ? operands.size() : op.promoted;
  for (const Operand& operand : operands.first(count)) {
    operand.is_tensor() ? promotion.add(operand.tensor) : promotion.add(operand.number);
  }
  const ScalarType type = promotion.result();
  if (op.promote == Promote::kFloating) return to_floating(type);
  if (op.promote == Promote::kDouble) {
    return is_complex(type) ? ScalarType::kComplexDouble : ScalarType::kDouble;
  }
  return type;
}

IntVector broadcast_shape(Operands operands) {
  IntVector shape;
  bool first = true;
  for (const Operand& operand : operands) {
    if (!operand.is_tensor()) continue;
    const IntSpan sizes = operand.tensor.sizes();
    if (first) {
      shape.assign(sizes.begin(), sizes.end());
      first = false;
    } else if (!std::equal(sizes.begin(), sizes.end(), shape.begin(), shape.end())) {
      shape = broadcast_shapes({shape.data(), shape.size()}, sizes);
    }
  }
  return shape;
}

void run_pointwise(const Tensor& out, Body body, ScalarType common, Operands operands) {
  Job job;
  job.variant = &variant_for(body, common);
  TIERUP_CHECK(operands.size() == job.variant->arity);
  job.common = common;
  job.out_type = out.dtype();
  job.out_cast =
      out.dtype() == job.variant->out ? nullptr : cast_run(out.dtype(), job.variant->out);
  if (job.out_cast != nullptr)
    job.out_dense = dense_cast(out.dtype(), job.variant->out, instruction_set());
  std::array<const Tensor*, kMaxInputs + 1> tensors{&out};
  size_t tensor_count = 1;
  size_t widest = std::max(item_size(job.variant->out), out.item_size());
  for (size_t k = 0; k < operands.size(); ++k) {
    Source& source = job.sources[k];
    source.compute = job.variant->in[k];
    source.width = static_cast<int64_t>(item_size(source.compute));
    widest = std::max(widest, static_cast<size_t>(source.width));
    if (!operands[k].is_tensor()) {
      source.number = operands[k].number;
      // A comparison sees the number as narrow as the elements are.
      if (is_reduced(common) && job.variant->out == ScalarType::kBool) {
        source.number = rounded_to(common, source.number);
      }
      continue;
    }
    const ScalarType from = operands[k].tensor.dtype();
    widest = std::max(widest, item_size(from));
    source.operand = static_cast<int>(tensor_count);
    tensors[tensor_count++] = &operands[k].tensor;
    source.cast = cast_run(source.compute, from);
    source.same_type = from == source.compute;
    source.from_width = static_cast<int64_t>(item_size(from));
    if (!source.same_type) source.dense = dense_cast(source.compute, from, instruction_set());
    if (is_reduced(common) && source.compute == ScalarType::kFloat && from != common &&
        from != ScalarType::kFloat) {
      source.round = cast_run(common, from);
    }
  }
  job.block = static_cast<int64_t>(kBlockBytes / widest);
  const StridedLoop loop(out.sizes(), std::span<const Tensor* const>(tensors.data(), tensor_count));
  std::array<int64_t, kMaxInputs + 1> widths;
  for (size_t k = 0; k < tensor_count; ++k)
    widths[k] = static_cast<int64_t>(tensors[k]->item_size());
  const NumberedRows numbered(job, loop);
  if (numbered.apply()) return numbered.run();
  const GatheredBlocks blocks(job, loop, std::span<const int64_t>(widths.data(), tensor_count));
  if (blocks.pays()) return blocks.run();
  loop.run(kNumbersForThread, [&](char* const* pointers, const int64_t* strides, int64_t count) {
    run_job(job, pointers, strides, count);
  });
}

Tensor pointwise(const PointwiseOp& op, Operands operands, DyingOperands dying) {
  const ScalarType common = common_dtype(op, operands);
  const Variant& variant = variant_for(op.body, common);
  check_parameters(op.body, common, operands);
  Tensor out = make_result(operands, result_dtype(variant, common), dying);
  run_pointwise(out, op.body, common, operands);
  return out;
}

void pointwise_into(const Tensor& out, const PointwiseOp& op, Operands operands) {
  const ScalarType common = common_dtype(op, operands);
  const ScalarType type = result_dtype(variant_for(op.body, common), common);
  check_parameters(op.body, common, operands);
  require(can_cast(type, out.dtype()), ErrorCode::kTypeError,
          "result type {} can't be cast to the desired output type {}", scalar_type_name(type),
          scalar_type_name(out.dtype()));
  const IntVector shape = broadcast_shape(operands);
  if (!(std::equal(shape.begin(), shape.end(), out.sizes().begin(), out.sizes().end()))) {
    fail(ErrorCode::kInvalidArgument, "output with shape {} doesn't match the broadcast shape {}",
         shape_string(out.sizes()), shape_string({shape.data(), shape.size()}));
  }
  check_no_internal_overlap(out);
  for (const Operand& operand : operands) {
    if (operand.is_tensor()) check_no_partial_overlap(out, operand.tensor);
  }
  const bool is_rounded = type == ScalarType::kHalf || type == ScalarType::kBFloat16;
  if (is_rounded && out.dtype() != type) {
    // The result is of its own type first, whose digits are fewer than those of the sums behind it.
    const Tensor result = Tensor::empty({shape.data(), shape.size()}, type);
    run_pointwise(result, op.body, common, operands);
    copy_into(out, result);
  } else {
    run_pointwise(out, op.body, common, operands);
  }
  out.bump_version();
}

}  // namespace tierup::kernels
