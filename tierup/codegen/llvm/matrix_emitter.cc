// Matrix by matrix, tile by tile: for each tile, the products' sums stand in registers while the
// depth streams by; then the body is done on them, row by row of the tile. Rows that no tile takes
// go one by one, columns vector by vector, and those behind the last whole vector by a mask.
#include "tierup/codegen/llvm/matrix_emitter.h"

#include <bit>
#include <stdexcept>
#include <vector>

#include "tierup/codegen/llvm/lane_emitter.h"

namespace tierup::codegen {
namespace {

using llvm::Value;
using Values = std::vector<Value*>;

class MatrixEmitter {
 public:
  MatrixEmitter(const MatrixSpec& spec, llvm::LLVMContext& context, int vector_bits)
      : spec_(spec),
        body_(spec.body),
        context_(context),
        builder_(context),
        lanes_(builder_, vector_bits, spec.body.nodes) {}

  std::unique_ptr<llvm::Module> emit(const std::string& symbol) {
    check();
    auto module = std::make_unique<llvm::Module>(symbol, context_);
    function_ = begin_kernel(builder_, *module, symbol, KernelCount::kNone);
    load_arguments();
    Value* zero = number(0);
    loop(zero, sizes_[0], 1, [&](Value* first) {
      loop(zero, sizes_[1], 1, [&](Value* second) { matrix(first, second); });
    });
    finish_kernel(builder_, *function_);
    return module;
  }

 private:
  enum Dim : uint32_t { kFirst, kSecond, kRow, kColumn };
  static constexpr uint32_t kDims = 4;

  // A part of a row: `width` lanes from a column on, perhaps fewer.
  struct Columns {
    Value* first;
    unsigned width;
    Value* mask = nullptr;  // Of the lanes that there are; null if all.
    Value* left = nullptr;  // How many.
  };

  void check() const {
    check_nodes(body_, body_.operand_count + spec_.product_count);
    const auto fail = [](const char* what) { throw std::invalid_argument(what); };
    if (!std::has_single_bit(spec_.width)) fail("vectors of a width that is no power of two");
    if (spec_.tile_rows == 0 || spec_.tile_vectors == 0) fail("empty tiles");
    for (uint32_t i = 0; i < body_.operand_count; ++i) {
      const Access access = body_.operands[i].access;
      if (access == Access::kSplat) fail("matrices are not splat");
      if (i < body_.output_count && access != Access::kContiguous) fail("a scattered output");
    }
    for (uint32_t p = 0; p < spec_.product_count; ++p) {
      if (spec_.products[p].is_turned && spec_.tile_vectors > 1) fail("wide tiles of columns");
      const LaneType sum = spec_.products[p].sum;
      if (sum != LaneType::kF32 && sum != LaneType::kF64) fail("a sum that is no float");
    }
  }

  Value* number(int64_t value) { return builder_.getInt64(static_cast<uint64_t>(value)); }
  uint32_t left_of(uint32_t product) const { return body_.operand_count + 2 * product; }
  uint32_t right_of(uint32_t product) const { return left_of(product) + 1; }
  uint32_t place_count() const { return body_.operand_count + 2 * spec_.product_count; }

  void load_arguments() {
    llvm::Type* pointer = llvm::PointerType::get(context_, 0);
    llvm::Type* i64 = builder_.getInt64Ty();
    const auto load = [&](unsigned argument, llvm::Type* type, uint32_t index) -> Value* {
      return builder_.CreateLoad(
          type, builder_.CreateConstInBoundsGEP1_64(type, function_->getArg(argument), index));
    };
    for (uint32_t i = 0; i < place_count(); ++i) {
      data_.push_back(load(0, pointer, i));
      for (uint32_t d = 0; d < kDims; ++d) strides_.push_back(load(1, i64, kDims * i + d));
    }
    for (uint32_t i = 0; i < kDims + spec_.product_count; ++i) sizes_.push_back(load(2, i64, i));
  }

  // body(index) for begin, begin + step... below end.
  template <typename Body>
  void loop(Value* begin, Value* end, int64_t step, const Body& body) {
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    auto* inside = llvm::BasicBlock::Create(context_, "body", function_);
    auto* after = llvm::BasicBlock::Create(context_, "after", function_);
    builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), inside, after);
    builder_.SetInsertPoint(inside);
    llvm::PHINode* index = builder_.CreatePHI(builder_.getInt64Ty(), 2);
    index->addIncoming(begin, before);
    body(index);
    Value* next = builder_.CreateAdd(index, number(step));
    index->addIncoming(next, builder_.GetInsertBlock());
    builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), inside, after);
    builder_.SetInsertPoint(after);
  }

  Value* moved(Value* pointer, uint32_t place, Dim dim, Value* by) {
    return builder_.CreateGEP(builder_.getInt8Ty(), pointer,
                              builder_.CreateMul(by, strides_[kDims * place + dim]));
  }

  void matrix(Value* first, Value* second) {
    bases_.clear();
    for (uint32_t i = 0; i < place_count(); ++i) {
      bases_.push_back(moved(moved(data_[i], i, kFirst, first), i, kSecond, second));
    }
    Value* rows = sizes_[kRow];
    Value* begin = number(0);
    if (spec_.tile_rows > 1) {
      Value* whole = builder_.CreateSub(rows, builder_.CreateURem(rows, number(spec_.tile_rows)));
      loop(begin, whole, spec_.tile_rows, [&](Value* row) { panel(row, spec_.tile_rows); });
      begin = whole;
    }
    loop(begin, rows, 1, [&](Value* row) { panel(row, 1); });
  }

  // So many rows from one on.
  void panel(Value* row, unsigned rows) {
    rows_.assign(place_count(), {});
    for (uint32_t i = 0; i < place_count(); ++i) {
      const bool is_right = i >= body_.operand_count && (i - body_.operand_count) % 2 == 1;
      for (unsigned r = 0; r < rows && !is_right; ++r) {
        rows_[i].push_back(moved(bases_[i], i, kRow, builder_.CreateAdd(row, number(r))));
      }
    }
    Value* columns = sizes_[kColumn];
    const unsigned width = spec_.width;
    const auto whole = [&](unsigned part) {
      return builder_.CreateSub(columns, builder_.CreateURem(columns, number(part)));
    };
    Value* begin = number(0);
    if (const unsigned vectors = spec_.tile_vectors; vectors > 1) {
      Value* end = whole(vectors * width);
      loop(begin, end, vectors * width, [&](Value* j) { tile({j, width}, rows, vectors); });
      begin = end;
    }
    Value* end = whole(width);
    loop(begin, end, width, [&](Value* j) { tile({j, width}, rows, 1); });
    if (width > 1) loop(end, columns, width, [&](Value* j) { tile(last_columns(j), rows, 1); });
  }

  Columns last_columns(Value* first) {
    Value* left = builder_.CreateSub(sizes_[kColumn], first);
    std::vector<llvm::Constant*> numbers;
    for (unsigned lane = 0; lane < spec_.width; ++lane) numbers.push_back(builder_.getInt32(lane));
    Value* count = builder_.CreateTrunc(left, builder_.getInt32Ty());
    Value* mask = builder_.CreateICmpULT(llvm::ConstantVector::get(numbers),
                                         builder_.CreateVectorSplat(spec_.width, count));
    return {first, spec_.width, mask, left};
  }

  void tile(const Columns& columns, unsigned rows, unsigned vectors) {
    std::vector<Values> sums;  // By product, then row by row.
    for (uint32_t p = 0; p < spec_.product_count; ++p) {
      sums.push_back(sums_of(p, columns, rows, vectors));
    }
    for (unsigned r = 0; r < rows; ++r) {
      for (unsigned v = 0; v < vectors; ++v) {
        Values at;
        for (const Values& of_product : sums) at.push_back(of_product[r * vectors + v]);
        finish(moved_by(columns, v), r, at);
      }
    }
  }

  Columns moved_by(const Columns& columns, unsigned vectors) {
    Columns result = columns;
    if (vectors > 0) {
      result.first = builder_.CreateAdd(columns.first, number(vectors * columns.width));
    }
    return result;
  }

  Values sums_of(uint32_t product, const Columns& columns, unsigned rows, unsigned vectors) {
    const ProductSpec& of = spec_.products[product];
    llvm::Type* type = LaneEmitter::widen(lanes_.scalar_type(of.sum), columns.width);
    Values sums(rows * vectors, llvm::Constant::getNullValue(type));
    Value* depth = sizes_[kDims + product];
    Value* begin = number(0);
    if (of.is_turned && columns.width > 1) {
      Value* whole = builder_.CreateSub(depth, builder_.CreateURem(depth, number(columns.width)));
      const auto square = [&](Value* at) { return square_at(product, columns, at); };
      sums = summed(product, sums, rows, {begin, whole, columns.width}, square);
      begin = whole;
    }
    const auto single = [&](Value* at) { return right_at(product, columns, vectors, at); };
    return summed(product, sums, rows, {begin, depth, 1}, single);
  }

  struct Depths {
    Value* begin;
    Value* end;
    unsigned step;
  };
  // Sums that go on over some depths. `right_at` gives the right factor's vectors at a step's
  // depths, one depth after the other.
  template <typename RightAt>
  Values summed(uint32_t product, const Values& start, unsigned rows, const Depths& depths,
                const RightAt& right_at) {
    llvm::Type* type = start[0]->getType();
    const unsigned vectors = static_cast<unsigned>(start.size()) / rows;
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    std::vector<llvm::PHINode*> running;
    Values next;
    loop(depths.begin, depths.end, depths.step, [&](Value* at) {
      for (Value* sum : start) {
        running.push_back(builder_.CreatePHI(type, 2));
        running.back()->addIncoming(sum, before);
      }
      next.assign(running.begin(), running.end());
      const Values right = right_at(at);
      for (unsigned s = 0; s < depths.step; ++s) {
        add_products(product, builder_.CreateAdd(at, number(s)), &right[s * vectors], vectors,
                     next);
      }
      for (unsigned i = 0; i < running.size(); ++i) {
        running[i]->addIncoming(next[i], builder_.GetInsertBlock());
      }
    });
    Values sums;
    for (unsigned i = 0; i < next.size(); ++i) {
      llvm::PHINode* result = builder_.CreatePHI(type, 2);
      result->addIncoming(start[i], before);
      result->addIncoming(next[i], running[0]->getParent());
      sums.push_back(result);
    }
    return sums;
  }

  void add_products(uint32_t product, Value* depth, Value* const* right, unsigned vectors,
                    Values& sums) {
    const unsigned width = lanes_of(right[0]);
    for (unsigned r = 0; r * vectors < sums.size(); ++r) {
      Value* left = left_at(product, r, depth, width);
      for (unsigned v = 0; v < vectors; ++v) {
        Value*& sum = sums[r * vectors + v];
        sum = lanes_.multiply_add(left, right[v], sum);
      }
    }
  }
  static unsigned lanes_of(const Value* value) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
    return vector == nullptr ? 1 : vector->getNumElements();
  }

  // As many depths as a vector has lanes: each column's part is loaded in one piece, and the square
  // turned in registers. Columns that are not there are the first one.
  Values square_at(uint32_t product, const Columns& columns, Value* depth) {
    const ProductSpec& of = spec_.products[product];
    const uint32_t place = right_of(product);
    llvm::Type* type = LaneEmitter::widen(lanes_.element_type(of.right), columns.width);
    Value* row = moved(bases_[place], place, kRow, depth);
    Values square;
    for (unsigned lane = 0; lane < columns.width; ++lane) {
      Value* address = moved(row, place, kColumn, column_at(columns, lane));
      square.push_back(builder_.CreateAlignedLoad(type, address, llvm::Align(1)));
    }
    turn(square);
    for (Value*& line : square) line = lanes_.to_lane(line, of.right, of.sum, columns.width);
    return square;
  }

  // Swaps the halves of pairs that lie across the diagonal, from single elements up.
  void turn(Values& square) {
    const auto width = static_cast<unsigned>(square.size());
    for (unsigned part = 1; part < width; part *= 2) {
      std::vector<int> low;
      std::vector<int> high;
      for (unsigned lane = 0; lane < width; ++lane) {
        const bool is_low = (lane & part) == 0;
        low.push_back(static_cast<int>(is_low ? lane : lane - part + width));
        high.push_back(static_cast<int>(is_low ? lane + part : lane + width));
      }
      for (unsigned i = 0; i < width; ++i) {
        if ((i & part) != 0) continue;
        Value* first = square[i];
        Value* second = square[i | part];
        square[i] = builder_.CreateShuffleVector(first, second, low);
        square[i | part] = builder_.CreateShuffleVector(first, second, high);
      }
    }
  }

  Value* column_at(const Columns& columns, unsigned lane) {
    Value* column = builder_.CreateAdd(columns.first, number(lane));
    if (columns.left == nullptr) return column;
    Value* is_there = builder_.CreateICmpSLT(number(lane), columns.left);
    return builder_.CreateSelect(is_there, column, columns.first);
  }

  Values right_at(uint32_t product, const Columns& columns, unsigned vectors, Value* depth) {
    const ProductSpec& of = spec_.products[product];
    const uint32_t place = right_of(product);
    Value* row = moved(bases_[place], place, kRow, depth);
    Values right;
    for (unsigned v = 0; v < vectors; ++v) {
      Value* loaded = load(place, of.right, of.right_access, row, moved_by(columns, v));
      right.push_back(lanes_.to_lane(loaded, of.right, of.sum, columns.width));
    }
    return right;
  }

  Value* left_at(uint32_t product, unsigned row, Value* depth, unsigned width) {
    const ProductSpec& of = spec_.products[product];
    const uint32_t place = left_of(product);
    Value* address = moved(rows_[place][row], place, kColumn, depth);
    Value* loaded =
        builder_.CreateAlignedLoad(lanes_.element_type(of.left), address, llvm::Align(1));
    return lanes_.splat(lanes_.to_lane(loaded, of.left, of.sum, 1), width);
  }

  // The body of one row's part, given the sums there.
  void finish(const Columns& columns, unsigned row, const Values& sums) {
    Values values;
    for (uint32_t i = 0; i < body_.node_count; ++i) {
      const ExprNode& node = body_.nodes[i];
      switch (node.opcode) {
        case Opcode::kInput: values.push_back(input(node, columns, row, sums)); break;
        case Opcode::kScalar: throw std::invalid_argument("matrix kernels have no scalars");
        case Opcode::kConstant:
          values.push_back(lanes_.splat(lanes_.constant(node), columns.width));
          break;
        default: values.push_back(lanes_.operation(node, values, columns.width));
      }
    }
    for (uint32_t i = 0; i < body_.output_count; ++i) {
      const uint32_t result = body_.results[i];
      const ElementType element = body_.operands[i].element;
      store(i, lanes_.to_element(values[result], body_.nodes[result].type, element, columns.width),
            columns, row);
    }
  }

  Value* input(const ExprNode& node, const Columns& columns, unsigned row, const Values& sums) {
    const auto operand = static_cast<uint32_t>(node.immediate);
    if (operand >= body_.operand_count) {
      const uint32_t product = operand - body_.operand_count;
      return lanes_.convert(sums[product], spec_.products[product].sum, node.type, columns.width);
    }
    const OperandSpec& spec = body_.operands[operand];
    Value* loaded = load(operand, spec.element, spec.access, rows_[operand][row], columns);
    return lanes_.to_lane(loaded, spec.element, node.type, columns.width);
  }

  Value* load(uint32_t place, ElementType element_type, Access access, Value* row,
              const Columns& columns) {
    llvm::Type* element = lanes_.element_type(element_type);
    if (access == Access::kBroadcast) {
      return lanes_.splat(builder_.CreateAlignedLoad(element, row, llvm::Align(1)), columns.width);
    }
    if (access == Access::kStrided) return gather(place, element, row, columns);
    llvm::Type* type = LaneEmitter::widen(element, columns.width);
    Value* address = builder_.CreateGEP(element, row, columns.first);
    if (columns.mask == nullptr) return builder_.CreateAlignedLoad(type, address, llvm::Align(1));
    return builder_.CreateMaskedLoad(type, address, llvm::Align(1), columns.mask,
                                     llvm::Constant::getNullValue(type));
  }

  // Lanes that there are not read the first one's element.
  Value* gather(uint32_t place, llvm::Type* element, Value* row, const Columns& columns) {
    Value* gathered = llvm::PoisonValue::get(LaneEmitter::widen(element, columns.width));
    for (unsigned lane = 0; lane < columns.width; ++lane) {
      Value* column = column_at(columns, lane);
      Value* one =
          builder_.CreateAlignedLoad(element, moved(row, place, kColumn, column), llvm::Align(1));
      if (columns.width == 1) return one;
      gathered = builder_.CreateInsertElement(gathered, one, lane);
    }
    return gathered;
  }

  void store(uint32_t output, Value* value, const Columns& columns, unsigned row) {
    llvm::Type* element = lanes_.element_type(body_.operands[output].element);
    Value* address = builder_.CreateGEP(element, rows_[output][row], columns.first);
    if (columns.mask == nullptr) {
      builder_.CreateAlignedStore(value, address, llvm::Align(1));
    } else {
      builder_.CreateMaskedStore(value, address, llvm::Align(1), columns.mask);
    }
  }

  const MatrixSpec& spec_;
  const KernelSpec& body_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> builder_;
  LaneEmitter lanes_;
  llvm::Function* function_ = nullptr;
  Values data_;
  Values strides_;  // Four of each place.
  Values sizes_;
  Values bases_;              // Of the matrix at hand, by place.
  std::vector<Values> rows_;  // Of the panel at hand, by place; none of right factors.
};

}  // namespace

std::unique_ptr<llvm::Module> emit_matrix_kernel(const MatrixSpec& spec, llvm::LLVMContext& context,
                                                 const std::string& symbol, int vector_bits) {
  return MatrixEmitter(spec, context, vector_bits).emit(symbol);
}

}  // namespace tierup::codegen
