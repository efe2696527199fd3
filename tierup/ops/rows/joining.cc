// Joining operators: concatenation, repetition, mirroring and padding.
#include "tierup/kernels/indexing/rearrange.h"
#include "tierup/kernels/shape/cat.h"
#include "tierup/kernels/shape/padding.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

constexpr OpRow kRows[] = {
    {"aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., str "
     "padding_side=\"right\") -> Tensor",
     boxed<&k::pad_sequence>},
    {"aten::cat(Tensor[] tensors, int dim=0) -> Tensor", boxed<&k::cat>, ir::kNoEffect,
     &shapes::cat, facts(OpKind::kCat, JoinKind::kCat)},
    {"aten::cat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::cat>},
    other_name("aten::concat(Tensor[] tensors, int dim=0) -> Tensor", "aten::cat"),
    other_name("aten::concat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)",
               "aten::cat.out"),
    other_name("aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor", "aten::cat"),
    other_name(
        "aten::concatenate.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)",
        "aten::cat.out"),
    {"aten::stack(Tensor[] tensors, int dim=0) -> Tensor", boxed<&k::stack>, ir::kNoEffect,
     &shapes::stack, facts(OpKind::kStack, JoinKind::kStack)},
    {"aten::stack.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::stack>},
    // In the place of a stack whose parts alone are read.
    {"tierup::check_stack(Tensor[] tensors) -> ()", boxed<&k::check_stack>, ir::kMayRaise},
    {"aten::hstack(Tensor[] tensors) -> Tensor", boxed<&k::hstack>, ir::kNoEffect, nullptr,
     facts(OpKind::kStackColumns)},
    {"aten::hstack.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::hstack>},
    {"aten::vstack(Tensor[] tensors) -> Tensor", boxed<&k::vstack>, ir::kNoEffect, nullptr,
     facts(OpKind::kStackRows)},
    {"aten::vstack.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::vstack>},
    other_name("aten::row_stack(Tensor[] tensors) -> Tensor", "aten::vstack"),
    other_name("aten::row_stack.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)",
               "aten::vstack.out"),
    {"aten::dstack(Tensor[] tensors) -> Tensor", boxed<&k::dstack>},
    {"aten::dstack.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::dstack>},
    {"aten::column_stack(Tensor[] tensors) -> Tensor", boxed<&k::column_stack>},
    {"aten::column_stack.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::column_stack>},
    {"aten::block_diag(Tensor[] tensors) -> Tensor", boxed<&k::block_diag>},
    {"aten::block_diag.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::block_diag>},
    {"aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", boxed<&k::chunk_cat>},
    {"aten::_chunk_cat.out(Tensor[] tensors, int dim, int num_chunks, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::chunk_cat>},
    {"aten::meshgrid(Tensor[] tensors) -> Tensor[]", boxed<&k::meshgrid>},
    {"aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
     boxed<&k::meshgrid_indexing>},
    {"aten::cartesian_prod(Tensor[] tensors) -> Tensor", boxed<&k::cartesian_prod>},
    {"aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
     boxed<&k::combinations>},
    {"aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", boxed<&k::repeat>, ir::kNoEffect,
     nullptr, facts(OpKind::kRepeat)},
    {"aten::repeat.out(Tensor self, SymInt[] repeats, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::repeat>},
    {"aten::tile(Tensor self, SymInt[] dims) -> Tensor", boxed<&k::tile>, ir::kNoEffect, nullptr,
     facts(OpKind::kTile)},
    {"aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
     boxed<&k::repeat_interleave>},
    {"aten::repeat_interleave.Tensor_out(Tensor repeats, *, SymInt? output_size=None, Tensor(a!) "
     "out) -> Tensor(a!)",
     out_variant<&k::repeat_interleave>},
    {"aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? "
     "output_size=None) -> Tensor",
     boxed<&k::repeat_interleave_tensor>},
    {"aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? "
     "output_size=None) -> Tensor",
     boxed<&k::repeat_interleave_int>, ir::kNoEffect, nullptr, facts(OpKind::kRepeatEach)},
    {"aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", boxed<&k::roll>,
     ir::kNoEffect, &shapes::same, facts(OpKind::kRoll)},
    {"aten::roll.out(Tensor self, SymInt[1] shifts, int[1] dims=[], *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::roll>},
    {"tierup::wrap(Tensor self, int[] dims, int[] before, int[] after) -> Tensor", boxed<&k::wrap>},
    {"aten::flip(Tensor self, int[] dims) -> Tensor", boxed<&k::flip>, ir::kNoEffect, &shapes::same,
     facts(OpKind::kFlip)},
    {"aten::flip.out(Tensor self, int[] dims, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::flip>},
    {"aten::fliplr(Tensor self) -> Tensor", boxed<&k::fliplr>, ir::kNoEffect, &shapes::same},
    {"aten::flipud(Tensor self) -> Tensor", boxed<&k::flipud>, ir::kNoEffect, &shapes::same},
    {"aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", boxed<&k::rot90>},
    {"aten::rot90.out(Tensor self, int k=1, int[] dims=[0, 1], *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::rot90>},
    {"aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor",
     boxed<&k::pad>, ir::kNoEffect, &shapes::pad, facts(OpKind::kPad)},
    {"aten::_pad_enum(Tensor self, SymInt[] pad, int mode, float? value=None) -> Tensor",
     boxed<&k::pad_enum>},
    {"aten::_pad_circular(Tensor self, SymInt[] pad) -> Tensor", boxed<&k::circular_pad>},
    {"aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
     boxed<&k::constant_pad_nd>, ir::kNoEffect, &shapes::pad, facts(OpKind::kConstantPad)},
    {"aten::constant_pad_nd.out(Tensor self, SymInt[] pad, Scalar value=0, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::constant_pad_nd>},
    {"aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
     boxed<&k::reflection_pad1d>, ir::kNoEffect, nullptr, facts(OpKind::kReflectionPad)},
    {"aten::reflection_pad1d.out(Tensor self, SymInt[2] padding, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::reflection_pad1d>},
    {"aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
     boxed<&k::reflection_pad2d>, ir::kNoEffect, nullptr, facts(OpKind::kReflectionPad)},
    {"aten::reflection_pad2d.out(Tensor self, SymInt[4] padding, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::reflection_pad2d>},
    {"aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor",
     boxed<&k::reflection_pad3d>},
    {"aten::reflection_pad3d.out(Tensor self, SymInt[6] padding, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::reflection_pad3d>},
    {"aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
     boxed<&k::replication_pad1d>, ir::kNoEffect, nullptr, facts(OpKind::kReplicationPad)},
    {"aten::replication_pad1d.out(Tensor self, SymInt[2] padding, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::replication_pad1d>},
    {"aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
     boxed<&k::replication_pad2d>, ir::kNoEffect, nullptr, facts(OpKind::kReplicationPad)},
    {"aten::replication_pad2d.out(Tensor self, SymInt[4] padding, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::replication_pad2d>},
    {"aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor",
     boxed<&k::replication_pad3d>},
    {"aten::replication_pad3d.out(Tensor self, SymInt[6] padding, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::replication_pad3d>},
};

}  // namespace

std::span<const OpRow> joining_rows() { return kRows; }

}  // namespace tierup::ops
