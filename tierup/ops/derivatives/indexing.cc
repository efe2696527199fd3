// Reading and writing by indices and masks.
#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

Term zeros_of(GradContext& c, ArgIndex i) { return call(c, "aten::zeros", c.sizes(i), c.dtype(i)); }
// A zero that fits where values are expected.
Term nothing(GradContext& c) { return call(c, "aten::zeros", IntVector{}, c.result_dtype()); }
std::vector<GradValue> indices_of(GradContext& c, ArgIndex i) {
  std::vector<GradValue> indices;
  for (size_t k = 0; k < c.list_size(i); ++k)
    indices.push_back(c.is_none(i, k) ? GradValue() : c.arg(i, k));
  return indices;
}

void index(GradContext& c) {
  c.give(0,
         [&] { return zeros_of(c, 0).then("aten::index_put", indices_of(c, 1), grad(c), true); });
}
void index_put(GradContext& c) {
  c.give(0, [&] {
    if (c.bool_of("accumulate")) return grad(c);
    return grad(c).then("aten::index_put", indices_of(c, 1), nothing(c), false);
  });
  c.give("values", [&] { return grad(c).then("aten::index.Tensor", indices_of(c, 1)); });
}
void masked_index(GradContext& c) {
  c.give(0, [&] {
    return zeros_of(c, 0).then("aten::_unsafe_masked_index_put_accumulate", arg(c, 1),
                               indices_of(c, 2), grad(c));
  });
}
void masked_index_put(GradContext& c) {
  c.give(0, [&] { return grad(c); });
  c.give("values", [&] {
    return grad(c).then("aten::_unsafe_masked_index", arg(c, 1), indices_of(c, 2), 0);
  });
}

void index_select(GradContext& c) {
  c.give(0, [&] {
    return zeros_of(c, 0).then("aten::index_add", c.int_of("dim"), arg(c, 2), grad(c));
  });
}
void gather(GradContext& c) {
  c.give(0, [&] {
    return zeros_of(c, 0).then("aten::scatter_add", c.int_of("dim"), arg(c, 2), grad(c));
  });
}
void take(GradContext& c) {
  c.give(0, [&] { return zeros_of(c, 0).then("aten::put", arg(c, 1), grad(c), true); });
}
void take_along_dim(GradContext& c) {
  if (c.is_none("dim")) {
    const Term flat = reshape(arg(c, 0), IntVector{-1});
    return c.set_result(0, flat.then("aten::gather", 0, reshape(arg(c, 1), IntVector{-1})));
  }
  const int64_t dim = wrap_dim(c.int_of("dim"), c.rank(0));
  const auto at = static_cast<size_t>(dim);
  IntVector self(c.shape(0).begin(), c.shape(0).end());
  IntVector places(c.shape(1).begin(), c.shape(1).end());
  self[at] = 1;
  places[at] = 1;
  IntVector sizes = broadcast_shapes(self, places);
  const auto spread = [&](const Term& t, int64_t size) {
    sizes[at] = size;
    return expand(t, sizes);
  };
  const Term values = spread(arg(c, 0), c.size(0, dim));
  const Term index = arg(c, 1).then("aten::remainder.Scalar", c.size(0, dim));
  c.set_result(0, values.then("aten::gather", dim, spread(index, c.size(1, dim))));
}

// What was written to the places of argument `index` along `dim`, from a source of any rank.
Term selected(GradContext& c, const Term& from, ArgIndex source) {
  const Term index = arg(c, "index");
  if (c.rank(source) == 0) {
    const Term one =
        from.then("aten::index_select", c.int_of("dim"), reshape(index, IntVector{-1}));
    return reshape(one, IntVector{});
  }
  return from.then("aten::index_select", c.int_of("dim"), index);
}
void index_add(GradContext& c) {
  c.give(0, [&] { return grad(c); });
  c.give("source", [&] { return scaled(selected(c, grad(c), "source"), c.scalar_of("alpha")); });
}
void index_copy(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::index_fill.int_Scalar", c.int_of("dim"), arg(c, "index"), 0);
  });
  c.give("source", [&] { return selected(c, grad(c), "source"); });
}
void index_fill(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::index_fill.int_Scalar", c.int_of("dim"), arg(c, "index"), 0);
  });
  c.give("value", [&] {
    const GradValue places = c.ops(2, "aten::_unique", c.arg("index"), false, false)[0];
    return total(grad(c).then("aten::index_select", c.int_of("dim"), places));
  });
}

void scatter(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::scatter.value", c.int_of("dim"), arg(c, 2), 0); });
  c.give(3, [&] { return grad(c).then("aten::gather", c.int_of("dim"), arg(c, 2)); });
}
void scatter_add(GradContext& c) {
  c.give(0, [&] { return grad(c); });
  c.give(3, [&] { return grad(c).then("aten::gather", c.int_of("dim"), arg(c, 2)); });
}
// Results of another mode than adding are no functions that the reference differentiates.
void scatter_with(GradContext& c) {
  if (c.string_of("reduce") == "add") return scatter_add(c);
  c.give_nothing_known(0);
  c.give_nothing_known(3);
}

// scatter_reduce and index_reduce differ in how they read and write places alone.
struct Places {
  GradContext& c;
  bool by_index;  // Whole slices by a vector of indices.
  Term read(const Term& from) const {
    const OpName name = by_index ? OpName("aten::index_select") : OpName("aten::gather");
    return from.then(name, c.int_of("dim"), arg(c, "index"));
  }
  Term add(const Term& to, const Term& values) const {
    const OpName name = by_index ? OpName("aten::index_add") : OpName("aten::scatter_add");
    return to.then(name, c.int_of("dim"), arg(c, "index"), values);
  }
  Term clear(const Term& from) const {
    const OpName name =
        by_index ? OpName("aten::index_fill.int_Scalar") : OpName("aten::scatter.value");
    return from.then(name, c.int_of("dim"), arg(c, "index"), 0);
  }
  // The call again, with other values.
  Term reduce(const Term& self, const Term& source) const {
    const OpName name =
        by_index ? OpName("aten::index_reduce") : OpName("aten::scatter_reduce.two");
    return self.then(name, c.int_of("dim"), arg(c, "index"), source, c.value_of("reduce"),
                     c.bool_of("include_self"));
  }
};

Term numbers_of(const Term& mask, GradContext& c) {
  return mask.then("aten::to.dtype", c.result_dtype());
}

// Of a product with zeros: the zero's own gradient is the product of the others.
void reduced_product(GradContext& c, const Places& p, int source) {
  const bool include = c.bool_of("include_self");
  c.give(0, [&] {
    const Term self = arg(c, 0);
    const Term filled = cleared(self, equal(self, 0.0), 1);
    const Term g = grad(c) * p.reduce(filled, arg(c, source)) / filled;
    return include ? g : p.clear(g);
  });
  c.give(source, [&] {
    const Term x = arg(c, source);
    const Term self = arg(c, 0);
    const Term is_zero = equal(x, 0.0);
    const Term zeros = p.read(p.add(zeros_like(self), numbers_of(is_zero, c)));
    const Term alone = both(is_zero, equal(zeros, 1.0));
    const Term others = p.reduce(self, cleared(x, alone, 1));
    const Term at_zero = p.read(grad(c) * others);
    const Term elsewhere = p.read(grad(c) * result(c)) / cleared(x, is_zero, 1);
    return choose(alone, at_zero, elsewhere);
  });
}
void reduced_mean(GradContext& c, const Places& p, int source) {
  const bool include = c.bool_of("include_self");
  const auto counts = [&] {
    const Term ones = call(c, "aten::ones", c.sizes(source), c.result_dtype());
    const Term start = include ? call(c, "aten::ones", c.sizes(0), c.result_dtype())
                               : call(c, "aten::zeros", c.sizes(0), c.result_dtype());
    const Term n = p.add(start, ones);
    return cleared(n, equal(n, 0.0), 1);
  };
  c.give(0, [&] {
    const Term g = grad(c) / counts();
    return include ? g : p.clear(g);
  });
  c.give(source, [&] { return p.read(grad(c)) / p.read(counts()); });
}
// Split evenly among all equal ones.
void reduced_extremum(GradContext& c, const Places& p, int source) {
  const bool include = c.bool_of("include_self");
  const auto ties = [&] { return numbers_of(equal(arg(c, 0), result(c)), c); };
  const auto source_ties = [&] { return numbers_of(equal(arg(c, source), p.read(result(c))), c); };
  const auto share = [&] { return grad(c) / p.add(ties(), source_ties()); };
  c.give(0, [&] {
    const Term g = ties() * share();
    return include ? g : p.clear(g);
  });
  c.give(source, [&] { return source_ties() * p.read(share()); });
}
void reduced(GradContext& c, const Places& p, int source) {
  const std::string_view mode = c.string_of("reduce");
  if (mode == "prod") return reduced_product(c, p, source);
  if (mode == "mean") return reduced_mean(c, p, source);
  if (mode == "amax" || mode == "amin") return reduced_extremum(c, p, source);
  c.give(0, [&] { return c.bool_of("include_self") ? grad(c) : p.clear(grad(c)); });
  c.give(source, [&] { return p.read(grad(c)); });
}
void scatter_reduce(GradContext& c) { reduced(c, {c, false}, 3); }
void index_reduce(GradContext& c) { reduced(c, {c, true}, 3); }

void put(GradContext& c) {
  c.give(0, [&] {
    if (c.bool_of("accumulate")) return grad(c);
    const Term zeros = call(c, "aten::zeros", c.sizes(1), c.result_dtype());
    return grad(c).then("aten::put", arg(c, 1), zeros, false);
  });
  c.give(2,
         [&] { return grad(c).then("aten::take", arg(c, 1)).then("aten::reshape", c.sizes(2)); });
}

void masked_fill_number(GradContext& c) {
  c.give(0, [&] { return cleared(grad(c), arg(c, 1)); });
}
void masked_fill_tensor(GradContext& c) {
  c.give(0, [&] { return cleared(grad(c), arg(c, 1)); });
  c.give(2, [&] { return total(only(grad(c), arg(c, 1))); });
}
void masked_select(GradContext& c) {
  c.give(0, [&] {
    const IntVector sizes = broadcast_shapes(c.shape(0), c.shape(1));
    return call(c, "aten::zeros", sizes, c.dtype(0))
        .then("aten::masked_scatter", arg(c, 1), grad(c));
  });
}
void masked_scatter(GradContext& c) {
  c.give(0, [&] { return cleared(grad(c), arg(c, 1)); });
  c.give(2, [&] { return grad(c).then("aten::masked_scatter_backward", arg(c, 1), c.sizes(2)); });
}
void masked_scatter_backward(GradContext& c) {
  c.give(0, [&] { return zeros_of(c, 0).then("aten::masked_scatter", arg(c, 1), grad(c)); });
}

void segment_reduce(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::_segment_reduce_backward", result(c), arg(c, 0),
                        c.value_of("reduce"), optional(c, "lengths"), optional(c, "offsets"),
                        c.int_of("axis"), c.value_of("initial"));
  });
}

constexpr DerivativeRow kRows[] = {
    {"aten::index.Tensor", &index},
    {"aten::index.Tensor_hacked_twin", &index},
    {"aten::_unsafe_index.Tensor", &index},
    {"aten::_unsafe_index.Tensor_hacked_twin", &index},
    {"aten::index_put", &index_put},
    {"aten::index_put.hacked_twin", &index_put},
    {"aten::_unsafe_index_put", &index_put},
    {"aten::_unsafe_index_put.hacked_twin", &index_put},
    {"aten::_unsafe_masked_index", &masked_index},
    {"aten::_unsafe_masked_index_put_accumulate", &masked_index_put},
    {"aten::index_select", &index_select},
    {"aten::gather", &gather},
    {"aten::take", &take},
    {"aten::take_along_dim", DerivativeKind::kDecomposition, &take_along_dim},
    {"aten::index_add", &index_add},
    {"aten::index_copy", &index_copy},
    {"aten::index_fill.int_Scalar", &index_fill},
    {"aten::index_fill.int_Tensor", &index_fill},
    {"aten::index_reduce", &index_reduce},
    {"aten::scatter.src", &scatter},
    {"aten::scatter.value", &scatter},
    {"aten::scatter.reduce", &scatter_with},
    {"aten::scatter_add", &scatter_add},
    {"aten::scatter_reduce.two", &scatter_reduce},
    {"aten::put", &put},
    {"aten::masked_fill.Scalar", &masked_fill_number},
    {"aten::masked_fill.Tensor", &masked_fill_tensor},
    {"aten::masked_select", &masked_select},
    {"aten::masked_scatter", &masked_scatter},
    {"aten::masked_scatter_backward", &masked_scatter_backward},
    {"aten::segment_reduce", &segment_reduce},
};

}  // namespace

std::span<const DerivativeRow> indexing_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
