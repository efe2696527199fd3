// Random tensors: the numbers that PyTorch's CPU generator gives for the same seed and calls.
//
// Every function draws under the generator's lock, one element after the other in memory order,
// so the result does not depend on the number of threads. Functions that end in _ fill `self`,
// bump its version and return it.
#pragma once

#include "tierup/kernels/random/generator.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// Uniform in [from, to). Throws kInvalidArgument for from > to. Follows: uniform_, rand.
Tensor uniform_(const Tensor& self, double from, double to, Generator& generator);
// Follows: normal_, randn (contiguous tensors of 16 elements and more are drawn in blocks).
Tensor normal_(const Tensor& self, double mean, double deviation, Generator& generator);
Tensor exponential_(const Tensor& self, double rate, Generator& generator);
Tensor cauchy_(const Tensor& self, double median, double sigma, Generator& generator);
Tensor log_normal_(const Tensor& self, double mean, double deviation, Generator& generator);
Tensor geometric_(const Tensor& self, double p, Generator& generator);
// 1 with probability p, else 0; p as a number or as a tensor that broadcasts to self.
Tensor bernoulli_(const Tensor& self, double p, Generator& generator);
Tensor bernoulli_from(const Tensor& self, const Tensor& p, Generator& generator);
// Integers in [low, high); without bounds, in the whole range that the dtype holds exactly.
Tensor random_between(const Tensor& self, int64_t low, int64_t high, Generator& generator);
Tensor random_full(const Tensor& self, Generator& generator);
Tensor random_from(const Tensor& self, int64_t low, Generator& generator);

// A permutation of 0..n-1.
Tensor randperm(int64_t n, ScalarType dtype, Generator& generator);
// Indices drawn by the weights in the last dimension. Throws kInvalidArgument for negative,
// infinite or all-zero weights, and for more draws than weights without replacement.
Tensor multinomial(const Tensor& weights, int64_t count, bool replacement, Generator& generator);
Tensor poisson(const Tensor& rates, Generator& generator);

// What follows draws only while training, and from no generator otherwise: it may be null then.
//
// Zeroes elements (whole channels for feature_*) with probability p and scales the rest; the
// alpha_ forms keep mean and variance of SELU. Follow: dropout, feature_dropout, alpha_dropout.
enum class DropoutKind : uint8_t { kPlain, kFeature, kAlpha, kFeatureAlpha };
Tensor dropout(const Tensor& input, double p, bool train, DropoutKind kind, Generator* generator);
// Result and mask. Follows: native_dropout.
std::pair<Tensor, Tensor> native_dropout(const Tensor& input, double p, bool train,
                                         Generator* generator);
// Leaky ReLU with slopes drawn from [lower, upper] when training; their mean otherwise. `noise`
// (may be undefined) receives the slopes, 1 for positive elements.
Tensor rrelu(const Tensor& self, const Tensor& noise, double lower, double upper, bool training,
             Generator* generator);

}  // namespace tierup::kernels
