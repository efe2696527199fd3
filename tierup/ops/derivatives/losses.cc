// Losses and distances.
#include <cmath>

#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/ops/derivatives/dimensions.h"
#include "tierup/ops/derivatives/tables.h"

namespace tierup::ops::derivatives {
namespace {

constexpr int64_t kNoReduction = 0;
constexpr int64_t kMean = 1;

int64_t reduction_of(GradContext& c) { return c.int_of("reduction"); }

// A composite loss's last step.
Term reduced(const Term& losses, int64_t reduction) {
  if (reduction == kNoReduction) return losses;
  return reduction == kMean ? losses.then("aten::mean") : total(losses);
}

// --- element by element, by the operators of their backward passes

// Operands of one size: their backward operators divide a mean by the elements of self.
struct Pair {
  Term self, target;
};
Pair broadcast(GradContext& c) {
  const IntVector sizes = broadcast_shapes(c.shape(0), c.shape(1));
  const IntSpan wanted(sizes.data(), sizes.size());
  const auto spread_over = [&](int i) {
    const bool same =
        std::equal(wanted.begin(), wanted.end(), c.shape(i).begin(), c.shape(i).end());
    return same ? arg(c, i) : expand(arg(c, i), wanted);
  };
  return {spread_over(0), spread_over(1)};
}

void mse_loss(GradContext& c) {
  const auto side = [&] {
    const Pair p = broadcast(c);
    return grad(c).then("aten::mse_loss_backward", p.self, p.target, reduction_of(c));
  };
  c.give(0, side);
  c.give(1, [&] { return -side(); });
}
void l1_loss(GradContext& c) {
  c.set_result(0, reduced(abs(arg(c, 0) - arg(c, 1)), reduction_of(c)));
}
void smooth_l1_loss(GradContext& c) {
  const auto side = [&] {
    const Pair p = broadcast(c);
    return grad(c).then("aten::smooth_l1_loss_backward", p.self, p.target, reduction_of(c),
                        c.float_of("beta"));
  };
  c.give(0, side);
  c.give(1, [&] { return -side(); });
}
void huber_loss(GradContext& c) {
  const auto side = [&] {
    const Pair p = broadcast(c);
    return grad(c).then("aten::huber_loss_backward", p.self, p.target, reduction_of(c),
                        c.float_of("delta"));
  };
  c.give(0, side);
  c.give(1, [&] { return -side(); });
}
void soft_margin_loss(GradContext& c) {
  c.give(0, [&] {
    const Pair p = broadcast(c);
    return grad(c).then("aten::soft_margin_loss_backward", p.self, p.target, reduction_of(c));
  });
  c.give(1, [&] {
    const Pair p = broadcast(c);
    return grad(c).then("aten::soft_margin_loss_backward", p.target, p.self, reduction_of(c));
  });
}

double mean_factor(GradContext& c, ArgIndex i) {
  return reduction_of(c) == kMean ? 1.0 / static_cast<double>(c.numel(i)) : 1.0;
}
void binary_cross_entropy(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::binary_cross_entropy_backward", arg(c, 0), arg(c, 1), optional(c, 2),
                        reduction_of(c));
  });
  c.give(1, [&] {
    const Term x = arg(c, 0);
    Term slope = grad(c) * ((-x).then("aten::log1p") - log(x));
    if (c.is_tensor(2)) slope = slope * arg(c, 2);
    return scaled(slope, mean_factor(c, 0));
  });
}
// (1 - t) x + log(1 + exp(-x)), weighted where t is 1.
void cross_entropy_with_logits(GradContext& c) {
  const Term x = arg(c, 0);
  const Term t = arg(c, 1);
  const Term log_share = x.then("aten::log_sigmoid");
  Term losses = (1 - t) * x;
  if (c.is_tensor("pos_weight")) {
    losses = losses - ((arg(c, "pos_weight") - 1) * t + 1) * log_share;
  } else {
    losses = losses - log_share;
  }
  if (c.is_tensor("weight")) losses = losses * arg(c, "weight");
  c.set_result(0, reduced(losses, reduction_of(c)));
}
void kl_div(GradContext& c) {
  const Term x = arg(c, 0);
  const Term t = arg(c, 1);
  const Term losses =
      c.bool_of("log_target") ? exp(t) * (t - x) : t.then("aten::xlogy.Tensor", t) - t * x;
  c.set_result(0, reduced(losses, reduction_of(c)));
}
void poisson_nll_loss(GradContext& c) {
  const Term x = arg(c, 0);
  const Term t = arg(c, 1);
  Term losses = c.bool_of("log_input") ? exp(x) - t * x : x - t * log(x + c.float_of("eps"));
  if (c.bool_of("full")) {
    const Term stirling = t * log(t) - t + log(t * (2 * M_PI)) * 0.5;
    losses = losses + cleared(stirling, at_most(t, 1.0));
  }
  c.set_result(0, reduced(losses, reduction_of(c)));
}

Term positive_part(const Term& x) { return x.then("aten::clamp_min", 0); }
void hinge_embedding_loss(GradContext& c) {
  const Term x = arg(c, 0);
  const Term t = arg(c, 1);
  const Term far = positive_part(c.float_of("margin") - x);
  const Term losses = cleared(far, equal(t, 1.0)) + cleared(x, equal(t, -1.0));
  c.set_result(0, reduced(losses, reduction_of(c)));
}
void margin_ranking_loss(GradContext& c) {
  const Term losses = positive_part(-arg(c, 2) * (arg(c, 0) - arg(c, 1)) + c.float_of("margin"));
  c.set_result(0, reduced(losses, reduction_of(c)));
}
void cosine_embedding_loss(GradContext& c) {
  constexpr double kEps = 1e-12;
  const Term a = arg(c, 0);
  const Term b = arg(c, 1);
  const Term t = arg(c, 2);
  const IntVector last{c.rank(2)};
  const Term sizes =
      sqrt((sum_over(square(a), last, false) + kEps) * (sum_over(square(b), last, false) + kEps));
  const Term likeness = sum_over(a * b, last, false) / sizes;
  const Term near = 1 - likeness;
  const Term far = positive_part(likeness - c.float_of("margin"));
  const Term zeros = zeros_like(near);
  const Term losses = choose(equal(t, 1.0), near, zeros) + choose(equal(t, -1.0), far, zeros);
  c.set_result(0, reduced(losses, reduction_of(c)));
}
void triplet_margin_loss(GradContext& c) {
  const auto distance = [&](int i, int j) {
    return arg(c, i).then("aten::pairwise_distance", arg(c, j), c.float_of("p"), c.float_of("eps"));
  };
  Term negative = distance(0, 2);
  if (c.bool_of("swap")) negative = negative.then("aten::minimum", distance(1, 2));
  const Term losses = positive_part(distance(0, 1) - negative + c.float_of("margin"));
  c.set_result(0, reduced(losses, reduction_of(c)));
}

// --- losses over classes

void nll_loss_forward(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::nll_loss_backward", arg(c, 0), arg(c, 1), optional(c, 2),
                        reduction_of(c), c.int_of("ignore_index"), result(c, 1));
  });
}
void nll_loss(GradContext& c) {
  c.set_result(0, c.ops(2, "aten::nll_loss_forward", c.arg(0), c.arg(1), optional(c, 2),
                        reduction_of(c), c.int_of("ignore_index"))[0]);
}
Term class_weights(GradContext& c, int64_t dim) {
  IntVector sizes(static_cast<size_t>(c.rank(0)), 1);
  sizes[static_cast<size_t>(dim)] = c.size(0, dim);
  return reshape(arg(c, 2), sizes);
}
// (1 - s) nll(log_softmax) + s / C times the weighted sum over classes, by the same divisor.
void cross_entropy_of_classes(GradContext& c, const Term& logs, int64_t dim) {
  const double smoothing = c.float_of("label_smoothing");
  const int64_t reduction = reduction_of(c);
  const int64_t ignored = c.int_of("ignore_index");
  const std::vector<GradValue> nll = c.ops(2, "aten::nll_loss_forward", logs.operator GradValue(),
                                           c.arg(1), optional(c, 2), reduction, ignored);
  const Term loss(c, nll[0]);
  if (smoothing == 0) return c.set_result(0, loss);
  const Term all = c.is_tensor(2) ? logs * class_weights(c, dim) : logs;
  const Term hidden = equal(arg(c, 1), ignored);
  const Term smooth = cleared(-sum_over(all, IntVector{dim}, false), hidden);
  const double share = smoothing / static_cast<double>(c.size(0, dim));
  Term mixed = reduction == kNoReduction ? smooth : total(smooth);
  if (reduction == kMean) mixed = mixed / Term(c, nll[1]);
  c.set_result(0, loss * (1 - smoothing) + mixed * share);
}
void cross_entropy_of_shares(GradContext& c, const Term& logs, int64_t dim) {
  const double smoothing = c.float_of("label_smoothing");
  Term target = arg(c, 1);
  if (smoothing > 0) {
    target = target * (1 - smoothing) + smoothing / static_cast<double>(c.size(0, dim));
  }
  Term all = logs * target;
  if (c.is_tensor(2)) all = all * class_weights(c, dim);
  const Term losses = -sum_over(all, IntVector{dim}, false);
  if (reduction_of(c) == kNoReduction) return c.set_result(0, losses);
  const double batch =
      static_cast<double>(std::max<int64_t>(1, c.numel(0) / std::max<int64_t>(1, c.size(0, dim))));
  c.set_result(0, reduction_of(c) == kMean ? total(losses) / batch : total(losses));
}
void cross_entropy_loss(GradContext& c) {
  const int64_t dim = c.rank(0) == 1 ? 0 : 1;
  const Term logs = arg(c, 0).then("aten::log_softmax.int", dim);
  const bool shares = is_floating(c.dtype(1)) && std::equal(c.shape(0).begin(), c.shape(0).end(),
                                                            c.shape(1).begin(), c.shape(1).end());
  shares ? cross_entropy_of_shares(c, logs, dim) : cross_entropy_of_classes(c, logs, dim);
}

void multi_margin_loss(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::multi_margin_loss_backward", arg(c, 0), arg(c, 1), c.scalar_of("p"),
                        c.scalar_of("margin"), optional(c, "weight"), reduction_of(c));
  });
}
void multilabel_margin_forward(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::multilabel_margin_loss_backward", arg(c, 0), arg(c, 1),
                        reduction_of(c), result(c, 1));
  });
}
void multilabel_margin_loss(GradContext& c) {
  c.set_result(
      0, c.ops(2, "aten::multilabel_margin_loss_forward", c.arg(0), c.arg(1), reduction_of(c))[0]);
}

// --- distances

// What both operands promote to: a 0-dim one counts by its kind of number alone.
ScalarType common_dtype(GradContext& c) {
  const auto of_kind = [&](int i) {
    return Tensor::empty(c.rank(i) == 0 ? IntVector{} : IntVector{0}, c.dtype(i));
  };
  return kernels::result_type(of_kind(0), of_kind(1));
}
void cosine_similarity(GradContext& c) {
  const int64_t dim = c.int_of("dim");
  const double eps = c.float_of("eps");
  const Pair p = broadcast(c);
  const ScalarType dtype = common_dtype(c);
  const auto direction = [&](Term x, int i) {
    if (c.dtype(i) != dtype) x = x.then("aten::to.dtype", dtype);
    const Term norm = x.then("aten::linalg_vector_norm", 2, IntVector{dim}, true);
    // Of a norm below eps nothing but its direction is differentiated.
    return x / norm.then("aten::clamp_min", eps);
  };
  c.set_result(0, sum_over(direction(p.self, 0) * direction(p.target, 1), IntVector{dim}, false));
}
void pairwise_distance(GradContext& c) {
  const Term difference = arg(c, 0) - arg(c, 1) + c.float_of("eps");
  c.set_result(0, difference.then("aten::linalg_vector_norm", c.float_of("p"), IntVector{-1},
                                  c.bool_of("keepdim")));
}
void dist(GradContext& c) {
  const Term difference = arg(c, 0) - arg(c, 1);
  c.set_result(0, difference.then("aten::linalg_vector_norm", c.scalar_of("p")));
}
void cdist_by(GradContext& c, double p) {
  c.give(0,
         [&] { return grad(c).then("aten::_cdist_backward", arg(c, 0), arg(c, 1), p, result(c)); });
  c.give(1, [&] {
    return turned(grad(c)).then("aten::_cdist_backward", arg(c, 1), arg(c, 0), p,
                                turned(result(c)));
  });
}
void cdist(GradContext& c) { cdist_by(c, c.float_of("p")); }
void euclidean_dist(GradContext& c) { cdist_by(c, 2); }
void pdist(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::_pdist_backward", arg(c, 0), c.float_of("p"), result(c));
  });
}

// --- second order

// Of |x - y|^p by each coordinate, over the distance to the power p - 1; of equal points none.
Term distance_slope(const Term& difference, const Term& distance, double p) {
  if (p == 0) return difference * 0.0;
  if (p == 1) return sgn(difference);
  if (std::isinf(p)) return only(sgn(difference), equal(abs(difference), distance));
  const Term divisor = cleared(distance, equal(distance, 0), 1);
  if (p == 2) return difference / divisor;
  const Term none = equal(difference, 0);
  const Term ratio = cleared(abs(difference), none, 1) / divisor;
  return cleared(sgn(difference) * pow(ratio, p - 1), none);
}
// All pairs at once: the operator's own kernel holds none.
void cdist_backward(GradContext& c) {
  const Term difference = unsqueeze(arg(c, 1), -2) - unsqueeze(arg(c, 2), -3);
  const Term slope = distance_slope(difference, unsqueeze(arg(c, 4), -1), c.float_of("p"));
  c.set_result(0, sum_over(unsqueeze(arg(c, 0), -1) * slope, IntVector{-2}, false));
}

// Whether the gradient of the loss is that of each element, or one for all.
void mse_loss_backward(GradContext& c) {
  const double factor = 2 * mean_factor(c, 1);
  c.give(0, [&] { return grad(c) * (arg(c, 1) - arg(c, 2)) * factor; });
  c.give(1, [&] { return grad(c) * arg(c, 0) * factor; });
  c.give(2, [&] { return grad(c) * arg(c, 0) * -factor; });
}
void smooth_l1_loss_backward(GradContext& c) {
  const double beta = c.float_of("beta");
  const double factor = mean_factor(c, 1);
  const auto inside = [&] {
    const Term z = abs(arg(c, 1) - arg(c, 2));
    return only(grad(c) * arg(c, 0) * (factor / beta), less(z, beta));
  };
  c.give(0, [&] {
    return grad(c) * ones_like(arg(c, 0)).then("aten::smooth_l1_loss_backward", arg(c, 1),
                                               arg(c, 2), reduction_of(c), beta);
  });
  c.give(1, inside);
  c.give(2, [&] { return -inside(); });
}
void huber_loss_backward(GradContext& c) {
  const double delta = c.float_of("delta");
  const double factor = mean_factor(c, 1);
  const auto inside = [&] {
    const Term z = abs(arg(c, 1) - arg(c, 2));
    return only(grad(c) * arg(c, 0) * factor, less(z, delta));
  };
  c.give(0, [&] {
    return grad(c) * ones_like(arg(c, 0)).then("aten::huber_loss_backward", arg(c, 1), arg(c, 2),
                                               reduction_of(c), delta);
  });
  c.give(1, inside);
  c.give(2, [&] { return -inside(); });
}
void soft_margin_loss_backward(GradContext& c) {
  const double factor = mean_factor(c, 1);
  const auto share = [&] {
    return (arg(c, 1) * arg(c, 2)).then("aten::neg").then("aten::sigmoid");
  };
  c.give(0, [&] { return grad(c) * (share() * arg(c, 2) * -factor); });
  c.give(1, [&] {
    const Term s = share();
    return grad(c) * arg(c, 0) * (square(arg(c, 2)) * s * (1 - s) * factor);
  });
  c.give(2, [&] {
    const Term s = share();
    return grad(c) * arg(c, 0) * ((arg(c, 1) * arg(c, 2) * s * (1 - s) - s) * factor);
  });
}
void cross_entropy_backward(GradContext& c) {
  const double factor = mean_factor(c, 1);
  const auto weighted = [&](const Term& t) {
    const Term all = c.is_tensor(3) ? t * arg(c, 3) : t;
    return scaled(all, factor);
  };
  const auto spread_of = [&] { return arg(c, 1) * (1 - arg(c, 1)); };
  c.give(0, [&] {
    const Term divisor = spread_of().then("aten::clamp_min", 1e-12);
    return weighted(grad(c) * (arg(c, 1) - arg(c, 2)) / divisor);
  });
  c.give(1, [&] {
    const Term x = arg(c, 1);
    const Term t = arg(c, 2);
    const Term slope = (square(x) - x * t * 2 + t) / square(spread_of());
    return weighted(grad(c) * arg(c, 0) * slope);
  });
  c.give(2, [&] { return weighted(-(grad(c) * arg(c, 0) / spread_of())); });
}
void nll_loss_backward(GradContext& c) {
  c.give(0, [&] {
    return c.ops(2, "aten::nll_loss_forward", c.grad(), c.arg(2), optional(c, 3), reduction_of(c),
                 c.int_of("ignore_index"))[0];
  });
  c.give_zeros(1);
}

// --- label sequences: (log_probs, targets, input_lengths, target_lengths, blank ...)

// Lengths are lists of numbers or tensors of them, by the overload.
GradArg lengths(GradContext& c, ArgIndex i) {
  return c.is_tensor(i) ? GradArg(c.arg(i)) : GradArg(c.value_of(i));
}
void label_loss_forward(GradContext& c) {
  constexpr OpName kByLists = "aten::_ctc_loss_backward";
  constexpr OpName kByTensors = "aten::_ctc_loss_backward.Tensor";
  c.give(0, [&] {
    return c.op(c.is_tensor(2) ? kByTensors : kByLists, c.grad(), c.arg(0), c.arg(1), lengths(c, 2),
                lengths(c, 3), c.result(0), c.result(1), c.int_of("blank"),
                c.bool_of("zero_infinity"));
  });
}
void label_loss(GradContext& c) {
  constexpr OpName kByLists = "aten::_ctc_loss";
  constexpr OpName kByTensors = "aten::_ctc_loss.Tensor";
  const bool forgives = c.bool_of("zero_infinity");
  Term losses(c, c.ops(2, c.is_tensor(2) ? kByTensors : kByLists, c.arg(0), c.arg(1), lengths(c, 2),
                       lengths(c, 3), c.int_of("blank"), forgives)[0]);
  if (forgives) losses = cleared(losses, losses.then("aten::isinf"));
  if (reduction_of(c) == kMean) {
    const Term counts = c.is_tensor(3) ? arg(c, 3) : call(c, "aten::tensor", c.value_of(3));
    losses = losses / counts.then("aten::clamp_min", 1);
  }
  c.set_result(0, reduced(losses, reduction_of(c)));
}

constexpr auto kDecomposed = DerivativeKind::kDecomposition;

constexpr DerivativeRow kRows[] = {
    {"aten::_ctc_loss", &label_loss_forward, 0b10},
    {"aten::_ctc_loss.Tensor", &label_loss_forward, 0b10},
    {"aten::ctc_loss.IntList", kDecomposed, &label_loss},
    {"aten::ctc_loss.Tensor", kDecomposed, &label_loss},
    {"aten::mse_loss", &mse_loss},
    {"aten::l1_loss", kDecomposed, &l1_loss},
    {"aten::smooth_l1_loss", &smooth_l1_loss},
    {"aten::huber_loss", &huber_loss},
    {"aten::soft_margin_loss", &soft_margin_loss},
    {"aten::binary_cross_entropy", &binary_cross_entropy},
    {"aten::binary_cross_entropy_with_logits", kDecomposed, &cross_entropy_with_logits},
    {"aten::kl_div", kDecomposed, &kl_div},
    {"aten::poisson_nll_loss", kDecomposed, &poisson_nll_loss},
    {"aten::hinge_embedding_loss", kDecomposed, &hinge_embedding_loss},
    {"aten::margin_ranking_loss", kDecomposed, &margin_ranking_loss},
    {"aten::cosine_embedding_loss", kDecomposed, &cosine_embedding_loss},
    {"aten::triplet_margin_loss", kDecomposed, &triplet_margin_loss},
    {"aten::nll_loss_forward", &nll_loss_forward, 0b10},
    {"aten::nll_loss2d_forward", &nll_loss_forward, 0b10},
    {"aten::nll_loss", kDecomposed, &nll_loss},
    {"aten::nll_loss2d", kDecomposed, &nll_loss},
    {"aten::nll_loss_nd", kDecomposed, &nll_loss},
    {"aten::cross_entropy_loss", kDecomposed, &cross_entropy_loss},
    {"aten::multi_margin_loss", &multi_margin_loss},
    {"aten::multilabel_margin_loss_forward", &multilabel_margin_forward, 0b10},
    {"aten::multilabel_margin_loss", kDecomposed, &multilabel_margin_loss},
    {"aten::cosine_similarity", kDecomposed, &cosine_similarity},
    {"aten::_cdist_backward", kDecomposed, &cdist_backward},
    {"aten::pairwise_distance", kDecomposed, &pairwise_distance},
    {"aten::dist", kDecomposed, &dist},
    {"aten::cdist", &cdist},
    {"aten::_cdist_forward", &cdist},
    {"aten::_euclidean_dist", &euclidean_dist},
    {"aten::pdist", &pdist},
    {"aten::_pdist_forward", &pdist},
    {"aten::mse_loss_backward", &mse_loss_backward},
    {"aten::smooth_l1_loss_backward", &smooth_l1_loss_backward},
    {"aten::huber_loss_backward", &huber_loss_backward},
    {"aten::soft_margin_loss_backward", &soft_margin_loss_backward},
    {"aten::binary_cross_entropy_backward", &cross_entropy_backward},
    {"aten::nll_loss_backward", &nll_loss_backward},
    {"aten::nll_loss2d_backward", &nll_loss_backward},
};

}  // namespace

std::span<const DerivativeRow> losses_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
