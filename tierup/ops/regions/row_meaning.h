// How a reduction or normalization maps its last dimensions (operators with the role kRows).
//
// A row here is what the last dimensions of a tensor span: from the first one that a softmax or a
// reduction goes over, or that a norm's normalized_shape names. The kernel itself is asked, by a
// call on two rows of zeros, so dtypes and shapes of results are stated nowhere else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tierup/ops/regions/pointwise_meaning.h"

namespace tierup::ops {

// What a value of a group with row members has for each row.
enum class RowSpace : uint8_t {
  kFull,    // All elements: [..., n].
  kColumn,  // One, in dimensions of size one: [..., 1].
  kFlat,    // One, without those dimensions: [...].
  // Where the call goes over a row's first dimensions alone: one for each element of the others.
  kPart,      // With the dimensions of size one: [..., 1, n].
  kFlatPart,  // Without them: [..., n].
};
inline bool is_part(RowSpace space) {
  return space == RowSpace::kPart || space == RowSpace::kFlatPart;
}

struct RowMeaning {
  ValueForm result;
  RowSpace space = RowSpace::kFull;
  size_t row_rank = 0;  // How many dimensions a row has...
  size_t folded = 0;    // ...and over how many of them, the first ones, the call goes.
  // Why the call is not one on rows of the last dimensions, if it is not.
  RefusedGroup refusal;
};

// Of a result of a call of `op`, whose role is kRowwise and whose dimensions count from the last
// one; tensors beyond the first are parameters of the shape of a row, or have one element for each
// row.
RowMeaning row_meaning_of(const Op& op, const std::vector<MeaningArgument>& arguments,
                          size_t result = 0);
// Whether an argument has one element for each row: the index of a gather.
bool is_for_each_row(const Op& op, size_t argument);
// Rewrites the dimensions of a call on a tensor of `rank` dimensions; whether there was one that
// counted from the first.
bool count_from_back(const Op& op, std::vector<MeaningArgument>& arguments, int64_t rank);

}  // namespace tierup::ops
