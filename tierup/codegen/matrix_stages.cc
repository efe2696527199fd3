#include "tierup/codegen/matrix_stages.h"

#include <algorithm>
#include <bit>

namespace tierup::codegen {
namespace {

using ops::ColumnStep;
using ops::GroupArgument;
using ops::GroupMember;
using ops::MatrixStage;

bool same_sizes(const Tensor& a, const Tensor& b) {
  return std::equal(a.sizes().begin(), a.sizes().end(), b.sizes().begin(), b.sizes().end());
}

class StageMaker {
 public:
  StageMaker(const ops::GroupProgram& program, const ops::MatrixMetaTensors& metas)
      : program_(program), metas_(metas), stored_(program.members.size(), false) {}

  std::vector<MatrixStage> run() {
    for (uint32_t i = 0; i < program_.members.size(); ++i) find_level(i);
    for (const uint32_t output : program_.outputs) stored_[output] = true;
    const uint32_t last = *std::max_element(levels_.begin(), levels_.end());
    for (uint32_t level = 0; level <= last; ++level) add_level(level);
    return std::move(stages_);
  }

 private:
  // Whether a member reads an argument where it makes its own element, perhaps of its own kernel.
  bool is_in_place(const GroupMember& member, size_t place, const Tensor& made) const {
    const GroupArgument& argument = member.arguments[place];
    if (member.by_rows || argument.is_viewed()) return false;
    if (member.multiplies) {
      const auto places = ops::product_arguments(member.op->facts().product);
      if (places.added != place) return false;
    }
    return same_sizes(metas_.member(argument.index), made);
  }

  // What is read in another stage than that which makes it is stored.
  void find_level(uint32_t index) {
    const GroupMember& member = program_.members[index];
    uint32_t level = 0;
    const auto for_each = [&](const auto& visit) {
      for (size_t k = 0; k < member.arguments.size(); ++k) {
        const GroupArgument& argument = member.arguments[k];
        if (argument.source != GroupArgument::Source::kMember) continue;
        const bool is_called = program_.members[argument.index].by_rows;
        visit(argument.index, !is_called && is_in_place(member, k, metas_.member(index)));
      }
    };
    for_each([&](uint32_t read, bool in_place) {
      level = std::max(level, levels_[read] + (in_place ? 0 : 1));
    });
    levels_.push_back(level);
    for_each([&](uint32_t read, bool in_place) {
      if (!in_place || levels_[read] < level) stored_[read] = true;
    });
  }

  void add_level(uint32_t level) {
    for (uint32_t i = 0; i < program_.members.size(); ++i) {
      if (levels_[i] != level || !stored_[i]) continue;
      if (program_.members[i].by_rows) {
        stages_.emplace_back().called = i;
        continue;
      }
      stage_over(metas_.member(i), level).outputs.push_back(i);
    }
    for (MatrixStage& stage : stages_) {
      if (stage.called != MatrixStage::kNoMember || levels_[stage.outputs[0]] != level) continue;
      visited_.assign(program_.members.size(), false);
      for (const uint32_t output : stage.outputs) collect(output, level, stage);
    }
  }
  MatrixStage& stage_over(const Tensor& space, uint32_t level) {
    const auto found = std::find_if(stages_.begin(), stages_.end(), [&](const MatrixStage& stage) {
      return stage.called == MatrixStage::kNoMember && levels_[stage.outputs[0]] == level &&
             same_sizes(metas_.member(stage.outputs[0]), space);
    });
    return found != stages_.end() ? *found : stages_.emplace_back();
  }

  // What the expression of a member reads from memory, and the products in it.
  void collect(uint32_t index, uint32_t level, MatrixStage& stage) {
    if (visited_[index]) return;
    visited_[index] = true;
    const GroupMember& member = program_.members[index];
    const auto places = ops::product_arguments(member.op->facts().product);
    if (member.multiplies) {
      stage.products.push_back(index);
      stage.right_steps.push_back(right_step_of(index));
    }
    for (size_t k = 0; k < member.arguments.size(); ++k) {
      const GroupArgument& argument = member.arguments[k];
      const bool is_factor = member.multiplies && places.added != k;
      if (argument.source == GroupArgument::Source::kConstant || is_factor) continue;
      const bool is_member = argument.source == GroupArgument::Source::kMember;
      const bool is_here = is_member && !argument.is_viewed() && levels_[argument.index] == level &&
                           !program_.members[argument.index].by_rows;
      is_here ? collect(argument.index, level, stage) : add_read(argument, stage);
    }
  }
  // A depth below a vector's lanes is not worth turning.
  ColumnStep right_step_of(uint32_t product) const {
    constexpr int64_t kLanes = 16;
    const ops::Factors& factors = metas_.factors(product);
    const ColumnStep step = ops::right_step(factors.right);
    return step == ColumnStep::kTurned && factors.depth < kLanes ? ColumnStep::kAny : step;
  }

  void add_read(const GroupArgument& argument, MatrixStage& stage) const {
    const auto known = std::find_if(stage.reads.begin(), stage.reads.end(), [&](const auto& read) {
      return read.source == argument.source && read.index == argument.index &&
             read.chain == argument.chain;
    });
    if (known != stage.reads.end()) return;
    const Tensor& space = metas_.member(stage.outputs[0]);
    const ColumnStep step =
        ops::column_step(metas_.value_of(argument), space.dim() == 0 ? 1 : space.size(-1));
    stage.reads.push_back({argument.source, argument.index, argument.chain, step});
  }

  const ops::GroupProgram& program_;
  const ops::MatrixMetaTensors& metas_;
  std::vector<uint32_t> levels_;
  std::vector<bool> stored_;
  std::vector<bool> visited_;
  std::vector<MatrixStage> stages_;
};

Access access_of(ColumnStep step) {
  switch (step) {
    case ColumnStep::kOne: return Access::kContiguous;
    case ColumnStep::kNone: return Access::kBroadcast;
    case ColumnStep::kAny:
    case ColumnStep::kTurned: break;
  }
  return Access::kStrided;
}

// Vectors no wider than the rows, and as many sums as registers hold beside what is multiplied.
void choose_tile(const Tensor& space, int vector_bits, MatrixKernel& kernel) {
  constexpr size_t kLongBody = 48;
  const auto nodes = kernel.body.expressions.nodes();
  const bool has_wide = std::any_of(nodes.begin(), nodes.end(), [](const kernels::ExprNode& node) {
    return node.type == LaneType::kF64 || node.type == LaneType::kI64;
  });
  const auto size = [&](int64_t d) {
    return space.dim() < d ? uint64_t{1} : static_cast<uint64_t>(space.size(-d));
  };
  const auto lanes = static_cast<uint64_t>(vector_bits) / (has_wide ? 64 : 32);
  kernel.width =
      static_cast<uint32_t>(std::min(lanes, std::bit_ceil(std::max<uint64_t>(size(1), 1))));
  const bool is_turned = std::any_of(kernel.products.begin(), kernel.products.end(),
                                     [](const ProductSpec& product) { return product.is_turned; });
  // Turning costs as much as some rows of products; long bodies fill registers by themselves.
  const uint64_t registers = vector_bits == 512 ? 16 : 8;
  const uint64_t products = std::max<size_t>(kernel.products.size(), 1);
  const uint64_t sums =
      nodes.size() > kLongBody && !is_turned ? 4 : std::max<uint64_t>(registers / products, 1);
  kernel.tile_rows = static_cast<uint32_t>(
      std::bit_floor(std::clamp<uint64_t>(size(2), 1, std::min<uint64_t>(sums, 8))));
  const uint64_t vectors = is_turned ? 1 : sums / kernel.tile_rows;
  kernel.tile_vectors = static_cast<uint32_t>(
      std::bit_floor(std::clamp<uint64_t>(size(1) / kernel.width, 1, vectors)));
}

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

std::vector<MatrixStage> matrix_stages_of(const ops::GroupProgram& program,
                                          const ops::MatrixMetaTensors& metas) {
  return StageMaker(program, metas).run();
}

MatrixKernel build_matrix_kernel(const ops::GroupProgram& program, const GroupForms& forms,
                                 const std::vector<ops::ValueForm>& inputs,
                                 const MatrixStage& stage, const ops::MatrixMetaTensors& metas,
                                 int vector_bits) {
  MatrixKernel kernel;
  std::vector<ops::KernelInput> reads;
  for (const ops::MatrixRead& read : stage.reads) {
    reads.push_back({read.source, read.index, false, read.chain});
  }
  kernel.body =
      build_group_kernel(program, inputs, forms.members, reads, stage.outputs, 0, stage.products);
  for (size_t i = 0; i < stage.reads.size(); ++i) {
    kernel.body.operands[stage.outputs.size() + i].access = access_of(stage.reads[i].step);
  }
  for (size_t p = 0; p < stage.products.size(); ++p) {
    const ScalarType type = forms.members[stage.products[p]].dtype;
    const ElementType element = *element_type_of(type);
    kernel.products.push_back({element, element, access_of(stage.right_steps[p]),
                               stage.right_steps[p] == ColumnStep::kTurned,
                               type == ScalarType::kDouble ? LaneType::kF64 : LaneType::kF32});
  }
  choose_tile(metas.member(stage.outputs[0]), vector_bits, kernel);
  return kernel;
}

MatrixSpec MatrixKernel::spec(const char* name) const {
  return {body.spec(name), products.data(), static_cast<uint32_t>(products.size()),
          width,           tile_rows,       tile_vectors};
}

std::string MatrixKernel::key() const {
  std::string bytes = "matrix" + body.key();
  for (const ProductSpec& product : products) {
    append(bytes, product.left);
    append(bytes, product.right);
    append(bytes, product.right_access);
    append(bytes, product.is_turned);
    append(bytes, product.sum);
  }
  for (const uint32_t number : {width, tile_rows, tile_vectors}) append(bytes, number);
  return bytes;
}

}  // namespace tierup::codegen
