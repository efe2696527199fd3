// Spare pages: weights of a mapped file that the process holds in a packed form as well.
//
// When a net has packed a weight, the file's pages of it are given back to the system, so that the
// packed form replaces the mapped one in memory. But tier 0 still reads the mapped one: to compare
// the plan with, and for calls that came before it. Each of them would bring all weights back, for
// good. So whoever reads a spare weight gives its pages back again, until it was read so often that
// it seems to be needed.
//
// The system is asked by a hint that changes no byte: a range that was meanwhile unmapped, or
// mapped for something else, loses nothing.
#pragma once

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// Gives back the pages of a weight in a mapped file, now and after its next readers; memory of our
// own is left alone. Any thread.
void give_back_pages(const Tensor& weight);

// Called by products and convolutions with the address of each operand that they have read. Costs a
// load where nothing is spare. Any thread.
void give_back_after_reading(const void* weight);

}  // namespace tierup::kernels
