// The probe runs the formula with every call left out: what it asks for is what has to be saved.
#include "tierup/autodiff/call_context.h"

#include "tierup/base/error.h"

namespace tierup::autodiff {
namespace {

class Probe final : public CallContext {
 public:
  using CallContext::CallContext;
  bool has_read() const { return has_read_; }

 private:
  static ops::GradValue some() { return ops::GradValue(0); }
  bool grad_defined(size_t /*result*/) const override { return true; }
  ops::GradValue read_grad(size_t /*result*/) override { return some(); }
  ops::GradValue read_grad_element(size_t /*result*/, size_t /*element*/) override {
    return some();
  }
  void take(size_t /*i*/, int64_t /*element*/, ops::GradValue /*value*/) override {}
  ops::GradValue read_argument(size_t i, int64_t element) override {
    RecordedValue& value = at(i, element);
    value.is_read = true;
    has_read_ = true;
    if (element < 0 && value.elements) {
      for (RecordedValue& item : *value.elements) item.is_read = true;
    }
    return some();
  }
  ops::GradValue read_result(size_t k) override {
    call_.results[k].is_read = true;
    has_read_ = true;
    return some();
  }
  ops::GradValue constant(IValue /*value*/) override { return some(); }
  void call(const ops::Op& /*op*/, std::span<ops::GradArg> /*operands*/,
            std::span<ops::GradValue> results) override {
    for (ops::GradValue& result : results) result = some();
  }
  std::vector<ops::GradValue> unpack(ops::GradValue /*list*/, size_t count) override {
    return std::vector<ops::GradValue>(count, some());
  }
  ops::GradValue conjugate(ops::GradValue value) override { return value; }
  void take_result(size_t /*k*/, ops::GradValue /*value*/) override {}
  void take_result_list(size_t /*k*/, const std::vector<ops::GradValue>& /*values*/) override {}

  bool has_read_ = false;
};

}  // namespace

RecordedValue& CallContext::at(size_t i, int64_t element) const {
  TIERUP_CHECK(i < call_.args.size());
  RecordedValue& value = call_.args[i];
  if (element < 0) return value;
  TIERUP_CHECK(value.elements && static_cast<size_t>(element) < value.elements->size());
  return (*value.elements)[static_cast<size_t>(element)];
}

size_t CallContext::result_count_of(size_t result) const {
  const auto& elements = call_.results[result].elements;
  return elements ? elements->size() : 0;
}

IntSpan CallContext::argument_sizes(size_t i, int64_t element) const {
  return at(i, element).sizes;
}

ScalarType CallContext::argument_dtype(size_t i, int64_t element) const {
  return at(i, element).dtype;
}

bool CallContext::argument_is_tensor(size_t i) const {
  return at(i, -1).kind != RecordedValue::Kind::kConstant;
}

size_t CallContext::element_count(size_t i) const {
  const RecordedValue& value = at(i, -1);
  if (value.elements) return value.elements->size();
  return value.constant.is_list() ? value.constant.to_list().items.size() : 0;
}

bool CallContext::element_is_none(size_t i, size_t element) const {
  const RecordedValue& value = at(i, -1);
  if (!value.elements) return true;
  return at(i, static_cast<int64_t>(element)).kind == RecordedValue::Kind::kConstant;
}

IntSpan CallContext::sizes_of_result(size_t k) const { return call_.results[k].sizes; }

ScalarType CallContext::dtype_of_result(size_t k) const {
  const RecordedValue& result = call_.results[k];
  if (result.elements && !result.elements->empty()) return result.elements->front().dtype;
  return result.dtype;
}

IntSpan CallContext::sizes_of_result_element(size_t k, size_t element) const {
  return (*call_.results[k].elements)[element].sizes;
}

bool probe_formula(RecordedCall& call) {
  const ops::Derivative& derivative = *call.op->derivative();
  if (derivative.kind != ops::DerivativeKind::kFormula) return false;
  Probe probe(call);
  derivative.function(probe);
  return probe.has_read();
}

}  // namespace tierup::autodiff
