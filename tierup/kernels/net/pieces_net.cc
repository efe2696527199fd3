#include "tierup/kernels/net/pieces_net.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "tierup/base/parallel.h"
#include "tierup/base/piece_queue.h"
#include "tierup/kernels/memory/copy.h"

namespace tierup::kernels::net {
namespace {

class PiecesNet final : public CompiledNet {
 public:
  PiecesNet(const BatchCut& cut, std::vector<PieceResult> results,
            std::unique_ptr<CompiledNet> piece)
      : cut_(cut), results_(std::move(results)), piece_(std::move(piece)) {
    take_notes();
  }

  std::optional<std::vector<Tensor>> run(std::span<const IValue> inputs) const override {
    std::vector<Tensor> results = new_results();
    if (!run_into(inputs, results)) return std::nullopt;
    return results;
  }

  bool run_into(std::span<const IValue> inputs, std::span<const Tensor> results) const override {
    const std::vector<IValue> given = in_order(inputs);
    std::atomic<bool> met_nan = false;
    const auto run_piece = [&](int64_t piece, int64_t) {
      if (met_nan.load(std::memory_order_relaxed)) return;
      const ThreadCountScope one(1);
      if (!piece_->run_into(inputs_of(cut_, given, piece), parts_of(results, piece)))
        met_nan.store(true, std::memory_order_relaxed);
    };
    parallel_pieces(cut_.pieces(), piece_workers(cut_.pieces(), intra_op_threads()), run_piece);
    return !met_nan.load(std::memory_order_relaxed);
  }

  std::vector<Tensor> rehearse(std::span<const IValue> inputs) override {
    const std::vector<IValue> given = in_order(inputs);
    std::vector<Tensor> results = new_results();
    const ThreadCountScope one(1);
    for (int64_t piece = 0; piece < cut_.pieces(); ++piece) {
      const std::vector<Tensor> made = piece_->rehearse(inputs_of(cut_, given, piece));
      const std::vector<Tensor> parts = parts_of(results, piece);
      for (size_t i = 0; i < parts.size(); ++i)
        std::memcpy(parts[i].raw(), made[i].raw(), made[i].bytes());
    }
    take_notes();
    return results;
  }

  bool uses_workers() const override { return piece_->uses_workers(); }
  int64_t pieces() const override { return cut_.pieces(); }
  const std::vector<std::string>& notes() const override { return notes_; }
  size_t step_count() const override { return piece_->step_count(); }

 private:
  void take_notes() {
    notes_ = piece_->notes();
    notes_.push_back(fmt::format("the batch of {} in {} pieces, each by one thread", cut_.entries,
                                 cut_.pieces()));
  }

  static std::vector<IValue> in_order(std::span<const IValue> inputs) {
    std::vector<IValue> given(inputs.begin(), inputs.end());
    for (IValue& input : given) {
      if (!input.is_tensor() || input.to_tensor().is_contiguous()) continue;
      input = IValue(clone(input.to_tensor(), MemoryFormat::kContiguous));
    }
    return given;
  }

  std::vector<Tensor> new_results() const {
    std::vector<Tensor> results;
    for (const PieceResult& result : results_) {
      results.push_back(Tensor::empty_strided(result.sizes, result.strides, ScalarType::kFloat));
    }
    return results;
  }

  std::vector<Tensor> parts_of(std::span<const Tensor> results, int64_t piece) const {
    std::vector<Tensor> parts;
    for (const Tensor& result : results) {
      IntVector sizes(result.sizes().begin(), result.sizes().end());
      sizes[0] /= cut_.pieces();
      parts.push_back(
          result.as_view(sizes, result.strides(), result.offset() + piece * numel_of(sizes)));
    }
    return parts;
  }

  const BatchCut cut_;
  const std::vector<PieceResult> results_;
  const std::unique_ptr<CompiledNet> piece_;
  std::vector<std::string> notes_;
};

}  // namespace

std::optional<std::vector<PieceResult>> results_of_pieces(const LayerNet& net, int64_t entries,
                                                          const std::vector<IntVector>& strides) {
  std::vector<PieceResult> results;
  for (size_t i = 0; i < net.outputs.size(); ++i) {
    const IntVector& sizes = net.values[static_cast<size_t>(net.outputs[i])].sizes;
    const IntVector lie = strides.empty() ? contiguous_strides(sizes) : strides[i];
    const bool lies_in_stretches =
        lie.size() == sizes.size() && lie[0] * sizes[0] == numel_of(sizes);
    if (!lies_in_stretches || sizes[0] % entries != 0) return std::nullopt;
    results.push_back({sizes, lie});
  }
  return results;
}

std::unique_ptr<CompiledNet> make_pieces_net(const BatchCut& cut, std::vector<PieceResult> results,
                                             std::unique_ptr<CompiledNet> piece) {
  return std::make_unique<PiecesNet>(cut, std::move(results), std::move(piece));
}

}  // namespace tierup::kernels::net
