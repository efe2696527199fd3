// Random tensors and dropout. The generator is the argument if given, else the run's own.
#include "tierup/kernels/random/random.h"

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/factory_arguments.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

using Sizes = const IntVector&;
using DropoutKind = k::DropoutKind;

k::Generator& pick(RunContext& context, const IValue& argument) {
  if (argument.is_capsule()) {
    auto* generator = dynamic_cast<k::Generator*>(argument.to_capsule());
    require(generator != nullptr, ErrorCode::kTypeError, "expected a Generator");
    return *generator;
  }
  return *context.generator;
}
Tensor fresh(Sizes size, Dtype dtype, const IValue& layout) {
  check_layout(layout);
  return Tensor::empty(size, dtype.value_or(k::kDefaultDtype));
}
Tensor like(const Tensor& self, Dtype dtype, Format format) {
  return k::empty_like(self, dtype.value_or(self.dtype()),
                       format.value_or(MemoryFormat::kPreserve));
}

Tensor rand(RunContext& c, Sizes size, Dtype dtype, const IValue& layout, OptionalDevice, Pin) {
  return k::uniform_(fresh(size, dtype, layout), 0, 1, *c.generator);
}
Tensor rand_with(RunContext& c, Sizes size, const IValue& g, Dtype dtype, const IValue& layout,
                 OptionalDevice, Pin) {
  return k::uniform_(fresh(size, dtype, layout), 0, 1, pick(c, g));
}
Tensor randn(RunContext& c, Sizes size, Dtype dtype, const IValue& layout, OptionalDevice, Pin) {
  return k::normal_(fresh(size, dtype, layout), 0, 1, *c.generator);
}
Tensor randn_with(RunContext& c, Sizes size, const IValue& g, Dtype dtype, const IValue& layout,
                  OptionalDevice, Pin) {
  return k::normal_(fresh(size, dtype, layout), 0, 1, pick(c, g));
}
Tensor rand_like(RunContext& c, const Tensor& self, Dtype dtype, const IValue&, OptionalDevice, Pin,
                 Format format) {
  return k::uniform_(like(self, dtype, format), 0, 1, *c.generator);
}
Tensor rand_like_with(RunContext& c, const Tensor& self, const IValue& g, Dtype dtype,
                      const IValue&, OptionalDevice, Pin, Format format) {
  return k::uniform_(like(self, dtype, format), 0, 1, pick(c, g));
}
Tensor randn_like(RunContext& c, const Tensor& self, Dtype dtype, const IValue&, OptionalDevice,
                  Pin, Format format) {
  return k::normal_(like(self, dtype, format), 0, 1, *c.generator);
}
Tensor randn_like_with(RunContext& c, const Tensor& self, const IValue& g, Dtype dtype,
                       const IValue&, OptionalDevice, Pin, Format format) {
  return k::normal_(like(self, dtype, format), 0, 1, pick(c, g));
}
Tensor randint(RunContext& c, int64_t high, Sizes size, Dtype dtype, const IValue& layout,
               OptionalDevice, Pin) {
  return k::random_between(fresh(size, dtype.value_or(ScalarType::kLong), layout), 0, high,
                           *c.generator);
}
Tensor randint_with(RunContext& c, int64_t high, Sizes size, const IValue& g, Dtype dtype,
                    const IValue& layout, OptionalDevice, Pin) {
  return k::random_between(fresh(size, dtype.value_or(ScalarType::kLong), layout), 0, high,
                           pick(c, g));
}
Tensor randint_low(RunContext& c, int64_t low, int64_t high, Sizes size, Dtype dtype,
                   const IValue& layout, OptionalDevice, Pin) {
  return k::random_between(fresh(size, dtype.value_or(ScalarType::kLong), layout), low, high,
                           *c.generator);
}
Tensor randint_low_with(RunContext& c, int64_t low, int64_t high, Sizes size, const IValue& g,
                        Dtype dtype, const IValue& layout, OptionalDevice, Pin) {
  return k::random_between(fresh(size, dtype.value_or(ScalarType::kLong), layout), low, high,
                           pick(c, g));
}
Tensor randint_like(RunContext& c, const Tensor& self, int64_t high, Dtype dtype, const IValue&,
                    OptionalDevice, Pin, Format format) {
  return k::random_between(like(self, dtype, format), 0, high, *c.generator);
}
Tensor randint_like_low(RunContext& c, const Tensor& self, int64_t low, int64_t high, Dtype dtype,
                        const IValue&, OptionalDevice, Pin, Format format) {
  return k::random_between(like(self, dtype, format), low, high, *c.generator);
}
Tensor randperm(RunContext& c, int64_t n, Dtype dtype, const IValue&, OptionalDevice, Pin) {
  return k::randperm(n, dtype.value_or(ScalarType::kLong), *c.generator);
}
Tensor randperm_with(RunContext& c, int64_t n, const IValue& g, Dtype dtype, const IValue&,
                     OptionalDevice, Pin) {
  return k::randperm(n, dtype.value_or(ScalarType::kLong), pick(c, g));
}

Tensor uniform_(RunContext& c, const Tensor& self, double from, double to, const IValue& g) {
  return k::uniform_(self, from, to, pick(c, g));
}
Tensor normal_(RunContext& c, const Tensor& self, double mean, double deviation, const IValue& g) {
  return k::normal_(self, mean, deviation, pick(c, g));
}
Tensor exponential_(RunContext& c, const Tensor& self, double rate, const IValue& g) {
  return k::exponential_(self, rate, pick(c, g));
}
Tensor cauchy_(RunContext& c, const Tensor& self, double median, double sigma, const IValue& g) {
  return k::cauchy_(self, median, sigma, pick(c, g));
}
Tensor log_normal_(RunContext& c, const Tensor& self, double mean, double deviation,
                   const IValue& g) {
  return k::log_normal_(self, mean, deviation, pick(c, g));
}
Tensor geometric_(RunContext& c, const Tensor& self, double p, const IValue& g) {
  return k::geometric_(self, p, pick(c, g));
}
Tensor random_(RunContext& c, const Tensor& self, const IValue& g) {
  return k::random_full(self, pick(c, g));
}
Tensor random_to(RunContext& c, const Tensor& self, int64_t to, const IValue& g) {
  return k::random_between(self, 0, to, pick(c, g));
}
Tensor random_range(RunContext& c, const Tensor& self, int64_t from, std::optional<int64_t> to,
                    const IValue& g) {
  if (to) return k::random_between(self, from, *to, pick(c, g));
  return k::random_from(self, from, pick(c, g));
}
Tensor bernoulli_(RunContext& c, const Tensor& self, double p, const IValue& g) {
  return k::bernoulli_(self, p, pick(c, g));
}
Tensor bernoulli_tensor_(RunContext& c, const Tensor& self, const Tensor& p, const IValue& g) {
  return k::bernoulli_from(self, p, pick(c, g));
}
Tensor bernoulli(RunContext& c, const Tensor& self, const IValue& g) {
  return k::bernoulli_from(k::empty_like(self, self.dtype()), self, pick(c, g));
}
Tensor bernoulli_p(RunContext& c, const Tensor& self, double p, const IValue& g) {
  return k::bernoulli_(k::empty_like(self, self.dtype()), p, pick(c, g));
}
Tensor bernoulli_like(RunContext& c, const Tensor& self, const Tensor& p, const IValue& g) {
  return k::bernoulli_from(k::empty_like(self, self.dtype()), p, pick(c, g));
}
Tensor multinomial(RunContext& c, const Tensor& self, int64_t count, bool replacement,
                   const IValue& g) {
  return k::multinomial(self, count, replacement, pick(c, g));
}
Tensor poisson(RunContext& c, const Tensor& self, const IValue& g) {
  return k::poisson(self, pick(c, g));
}

void check_deviation(const k::Operand& deviation) {
  if (deviation.is_tensor()) {
    require(!is_complex(deviation.tensor.dtype()), ErrorCode::kInvalidArgument,
            "normal expects standard deviation to be non-complex");
  } else {
    require(deviation.number.to_double() >= 0, ErrorCode::kInvalidArgument,
            "normal expects std >= 0.0, but found std {}", deviation.number.to_string());
  }
}

// mean + deviation * standard normal numbers, in the shape of both.
Tensor shifted_normal(k::Generator& generator, const k::Operand& mean,
                      const k::Operand& deviation) {
  check_deviation(deviation);
  const k::PointwiseCall shape{{k::Body::kAdd}, {mean, deviation}};
  const ScalarType dtype = k::common_dtype(shape.op, shape.inputs());
  const Tensor drawn = Tensor::empty(k::broadcast_shape(shape.inputs()), dtype);
  k::normal_(drawn, 0, 1, generator);
  return k::pointwise({k::Body::kAddScaled, k::Promote::kSame, 0, dtype}, {mean, drawn, deviation});
}
Tensor normal_tensor_float(RunContext& c, const Tensor& mean, double deviation, const IValue& g) {
  return shifted_normal(pick(c, g), mean, Scalar(deviation));
}
Tensor normal_float_tensor(RunContext& c, double mean, const Tensor& deviation, const IValue& g) {
  return shifted_normal(pick(c, g), Scalar(mean), deviation);
}
Tensor normal_tensors(RunContext& c, const Tensor& mean, const Tensor& deviation, const IValue& g) {
  return shifted_normal(pick(c, g), mean, deviation);
}
Tensor normal_floats(RunContext& c, double mean, double deviation, Sizes size, const IValue& g,
                     Dtype dtype, const IValue& layout, OptionalDevice, Pin) {
  return k::normal_(fresh(size, dtype, layout), mean, deviation, pick(c, g));
}

template <DropoutKind kKind>
Tensor dropout(RunContext& c, const Tensor& input, double p, bool train) {
  return k::dropout(input, p, train, kKind, c.generator);
}
std::tuple<Tensor, Tensor> native_dropout(RunContext& c, const Tensor& input, double p,
                                          std::optional<bool> train) {
  return k::native_dropout(input, p, train.value_or(true), c.generator);
}
Tensor native_dropout_backward(const Tensor& grad, const Tensor& mask, double scale) {
  const Tensor kept = k::pointwise({k::Body::kMul}, {grad, mask});
  return k::pointwise({k::Body::kMul}, {kept, k::Operand(Scalar(scale))});
}
Tensor rrelu(RunContext& c, const Tensor& self, const Scalar& lower, const Scalar& upper,
             bool training, const IValue& g) {
  return k::rrelu(self, {}, lower.to_double(), upper.to_double(), training,
                  training ? &pick(c, g) : nullptr);
}
Tensor rrelu_with_noise(RunContext& c, const Tensor& self, const Tensor& noise, const Scalar& lower,
                        const Scalar& upper, bool training, const IValue& g) {
  return k::rrelu(self, noise, lower.to_double(), upper.to_double(), training,
                  training ? &pick(c, g) : nullptr);
}

// Functional forms: the in-place operator on memory of its own.
template <auto InPlace>
struct Functional;
template <typename... A, Tensor (*InPlace)(RunContext&, const Tensor&, A...)>
struct Functional<InPlace> {
  static Tensor call(RunContext& c, const Tensor& self, A... args) {
    return InPlace(c, k::empty_like(self, self.dtype()), args...);
  }
};
template <auto InPlace>
inline constexpr auto functional = &Functional<InPlace>::call;

std::tuple<Tensor, Tensor> rrelu_functional(RunContext& c, const Tensor& self, const Tensor& noise,
                                            const Scalar& lower, const Scalar& upper, bool training,
                                            const IValue& g) {
  const Tensor drawn = k::clone(noise);
  return {rrelu_with_noise(c, self, drawn, lower, upper, training, g), drawn};
}

constexpr OpRow kRows[] = {
    {"aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> "
     "Tensor",
     boxed<functional<&uniform_>>, ir::kRandom},
    {"aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? "
     "generator=None) -> Tensor",
     boxed<functional<&normal_>>, ir::kRandom},
    {"aten::exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor",
     boxed<functional<&exponential_>>, ir::kRandom},
    {"aten::cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) -> "
     "Tensor",
     boxed<functional<&cauchy_>>, ir::kRandom},
    {"aten::log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) -> "
     "Tensor",
     boxed<functional<&log_normal_>>, ir::kRandom},
    {"aten::geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor",
     boxed<functional<&geometric_>>, ir::kRandom},
    {"aten::random(Tensor self, *, Generator? generator=None) -> Tensor",
     boxed<functional<&random_>>, ir::kRandom},
    {"aten::random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor",
     boxed<functional<&random_to>>, ir::kRandom},
    {"aten::random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor",
     boxed<functional<&random_range>>, ir::kRandom},
    {"aten::_no_grad_uniform_(Tensor(a!) tensor, float a, float b, Generator? generator=None) -> "
     "Tensor(a!)",
     boxed<&uniform_>, ir::kRandom},
    {"aten::_no_grad_normal_(Tensor(a!) tensor, float mean, float std, Generator? generator=None) "
     "-> Tensor(a!)",
     boxed<&normal_>, ir::kRandom},
    {"aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar "
     "upper=0.33333333333333331, bool training=False, Generator? generator=None) -> (Tensor, "
     "Tensor noise_out)",
     boxed<&rrelu_functional>, ir::kRandom},
    {"aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     boxed<&rand>, ir::kRandom, &shapes::filled},
    {"aten::rand.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&rand_with>, ir::kRandom},
    {"aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     boxed<&randn>, ir::kRandom, &shapes::filled},
    {"aten::randn.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&randn_with>, ir::kRandom},
    {"aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     boxed<&rand_like>, ir::kRandom, &shapes::same},
    {"aten::rand_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? "
     "memory_format=None) -> Tensor",
     boxed<&rand_like_with>, ir::kRandom},
    {"aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     boxed<&randn_like>, ir::kRandom, &shapes::same},
    {"aten::randn_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? "
     "memory_format=None) -> Tensor",
     boxed<&randn_like_with>, ir::kRandom},
    {"aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&randint>, ir::kRandom},
    {"aten::randint.generator(SymInt high, SymInt[] size, *, Generator? generator, ScalarType? "
     "dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&randint_with>, ir::kRandom},
    {"aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&randint_low>, ir::kRandom},
    {"aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, "
     "ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
     "Tensor",
     boxed<&randint_low_with>, ir::kRandom},
    {"aten::randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     boxed<&randint_like>, ir::kRandom},
    {"aten::randint_like.Tensor(Tensor self, Tensor high, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) "
     "-> Tensor",
     boxed<&randint_like>, ir::kRandom},
    {"aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? "
     "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? "
     "memory_format=None) -> Tensor",
     boxed<&randint_like_low>, ir::kRandom},
    {"aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None) -> Tensor",
     boxed<&randperm>, ir::kRandom},
    {"aten::randperm.generator(SymInt n, *, Generator? generator, ScalarType? dtype=4, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     boxed<&randperm_with>, ir::kRandom},
    {"aten::uniform_(Tensor(a!) self, float from=0., float to=1., *, Generator? generator=None) -> "
     "Tensor(a!)",
     boxed<&uniform_>, ir::kRandom},
    {"aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> "
     "Tensor(a!)",
     boxed<&normal_>, ir::kRandom},
    {"aten::exponential_(Tensor(a!) self, float lambd=1., *, Generator? generator=None) -> "
     "Tensor(a!)",
     boxed<&exponential_>, ir::kRandom},
    {"aten::cauchy_(Tensor(a!) self, float median=0., float sigma=1., *, Generator? "
     "generator=None) -> Tensor(a!)",
     boxed<&cauchy_>, ir::kRandom},
    {"aten::log_normal_(Tensor(a!) self, float mean=1., float std=2., *, Generator? "
     "generator=None) -> Tensor(a!)",
     boxed<&log_normal_>, ir::kRandom},
    {"aten::geometric_(Tensor(a!) self, float p, *, Generator? generator=None) -> Tensor(a!)",
     boxed<&geometric_>, ir::kRandom},
    {"aten::random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> "
     "Tensor(a!)",
     boxed<&random_range>, ir::kRandom},
    {"aten::random_.to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)",
     boxed<&random_to>, ir::kRandom},
    {"aten::random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)", boxed<&random_>,
     ir::kRandom},
    {"aten::bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> "
     "Tensor(a!)",
     boxed<&bernoulli_tensor_>, ir::kRandom},
    {"aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> "
     "Tensor(a!)",
     boxed<&bernoulli_>, ir::kRandom},
    {"aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor", boxed<&bernoulli>,
     ir::kRandom, &shapes::same},
    {"aten::bernoulli.out(Tensor self, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&bernoulli>, ir::kRandom},
    {"aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
     boxed<&bernoulli_p>, ir::kRandom},
    {"aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor",
     boxed<&bernoulli_like>, ir::kRandom},
    {"aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? "
     "generator=None) -> Tensor",
     boxed<&multinomial>, ir::kRandom},
    {"aten::multinomial.out(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? "
     "generator=None, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&multinomial>, ir::kRandom},
    {"aten::poisson(Tensor self, Generator? generator=None) -> Tensor", boxed<&poisson>,
     ir::kRandom},
    {"aten::poisson.out(Tensor self, Generator? generator=None, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&poisson>, ir::kRandom},
    {"aten::normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor",
     boxed<&normal_tensor_float>, ir::kRandom},
    {"aten::normal.Tensor_float_out(Tensor mean, float std=1., *, Generator? generator=None, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&normal_tensor_float>, ir::kRandom},
    {"aten::normal.float_Tensor_out(float mean, Tensor std, *, Generator? generator=None, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&normal_float_tensor>, ir::kRandom},
    {"aten::normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor",
     boxed<&normal_float_tensor>, ir::kRandom},
    {"aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor",
     boxed<&normal_tensors>, ir::kRandom},
    {"aten::normal.Tensor_Tensor_out(Tensor mean, Tensor std, *, Generator? generator=None, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&normal_tensors>, ir::kRandom},
    {"aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, "
     "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
     "Tensor",
     boxed<&normal_floats>, ir::kRandom},
    {"aten::dropout(Tensor input, float p, bool train) -> Tensor",
     boxed<&dropout<DropoutKind::kPlain>>, ir::kRandom, &shapes::same, facts(OpKind::kDropout)},
    {"aten::dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
     inplace<&dropout<DropoutKind::kPlain>>, ir::kRandom, nullptr, facts(OpKind::kDropout)},
    {"aten::feature_dropout(Tensor input, float p, bool train) -> Tensor",
     boxed<&dropout<DropoutKind::kFeature>>, ir::kRandom, &shapes::same, facts(OpKind::kDropout)},
    {"aten::feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
     inplace<&dropout<DropoutKind::kFeature>>, ir::kRandom, nullptr, facts(OpKind::kDropout)},
    {"aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor",
     boxed<&dropout<DropoutKind::kAlpha>>, ir::kRandom, &shapes::same, facts(OpKind::kDropout)},
    {"aten::alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
     inplace<&dropout<DropoutKind::kAlpha>>, ir::kRandom, nullptr, facts(OpKind::kDropout)},
    {"aten::feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor",
     boxed<&dropout<DropoutKind::kFeatureAlpha>>, ir::kRandom, &shapes::same,
     facts(OpKind::kDropout)},
    {"aten::feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
     inplace<&dropout<DropoutKind::kFeatureAlpha>>, ir::kRandom, nullptr, facts(OpKind::kDropout)},
    {"aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
     boxed<&native_dropout_backward>},
    {"aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
     boxed<&native_dropout>, ir::kRandom, &shapes::all_same},
    {"aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool "
     "training=False, Generator? generator=None) -> Tensor",
     boxed<&rrelu>, ir::kRandom, &shapes::same},
    {"aten::rrelu_(Tensor(a!) self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool "
     "training=False, Generator? generator=None) -> Tensor(a!)",
     inplace<&rrelu>, ir::kRandom},
    {"aten::rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar "
     "upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor",
     boxed<&rrelu_with_noise>, ir::kRandom},
    {"aten::rrelu_with_noise.out(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar "
     "upper=0.33333333333333331, bool training=False, Generator? generator=None, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     out_variant<&rrelu_with_noise>, ir::kRandom},
    {"aten::rrelu_with_noise_(Tensor(a!) self, Tensor(b!) noise, Scalar lower=0.125, Scalar "
     "upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor(a!)",
     inplace<&rrelu_with_noise>, ir::kRandom},
};

}  // namespace

std::span<const OpRow> random_rows() { return kRows; }

}  // namespace tierup::ops
