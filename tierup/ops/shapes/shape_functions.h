// The shape functions that rows name; see shape_context.h. A name says what is done to the sizes.
#pragma once

#include "tierup/ops/shapes/shape_context.h"

namespace tierup::ops::shapes {

void same(ShapeContext& context);        // The first result is as large as the first argument.
void all_same(ShapeContext& context);    // All results are.
void normalized(ShapeContext& context);  // The same, of which "normalized_shape" are the last.
void broadcast(ShapeContext& context);   // Of all arguments that are tensors.
void other(ShapeContext& context);       // As large as the second argument.

void view(ShapeContext& context);
void flatten(ShapeContext& context);
void unflatten(ShapeContext& context);
void transpose(ShapeContext& context);
void transpose_matrix(ShapeContext& context);
void permute(ShapeContext& context);
void squeeze(ShapeContext& context);
void unsqueeze(ShapeContext& context);
void expand(ShapeContext& context);
void select(ShapeContext& context);
void slice(ShapeContext& context);
void narrow(ShapeContext& context);

void unbind(ShapeContext& context);
void chunk(ShapeContext& context);
void split(ShapeContext& context);           // Into parts of one size.
void split_by_sizes(ShapeContext& context);  // Into parts of given sizes.
void cat(ShapeContext& context);
void stack(ShapeContext& context);
void pad(ShapeContext& context);
void glue(ShapeContext& context);  // One dimension is halved.

void reduce(ShapeContext& context);         // By the arguments "dim" and "keepdim"; none are all.
void reduce_listed(ShapeContext& context);  // The same, but an empty list are none.
void reduce_all(ShapeContext& context);     // To a tensor without dimensions.
void top(ShapeContext& context);            // The `k` best of a dimension.

void matmul(ShapeContext& context);
void einsum(ShapeContext& context);
void linear(ShapeContext& context);
void matrix_product(ShapeContext& context);  // [M, K] times [K, N]
void batch_product(ShapeContext& context);   // [B, M, K] times [B, K, N]
void added_product(ShapeContext& context);   // The same, behind a summand.
void added_batch_product(ShapeContext& context);
void attention(ShapeContext& context);
void attention_with_sums(ShapeContext& context);
void convolution(ShapeContext& context);
void pool(ShapeContext& context);
void adaptive_pool(ShapeContext& context);
void resample(ShapeContext& context);

void recurrent_cell(ShapeContext& context);  // Its results are as large as the states, "hx".
void recurrent(ShapeContext& context);       // The same behind all steps' outputs.

void embedding(ShapeContext& context);
void index_select(ShapeContext& context);
void gather(ShapeContext& context);
void filled(ShapeContext& context);  // Of the sizes that the argument "size" lists.
void square(ShapeContext& context);  // A matrix of "n" rows and "m", or also "n", columns.
void one_dimension(ShapeContext& context);

// Numbers.
void size(ShapeContext& context);
void sizes(ShapeContext& context);
void rank(ShapeContext& context);
void element_count(ShapeContext& context);
void number_itself(ShapeContext& context);  // A number, as a tensor or back.

}  // namespace tierup::ops::shapes
