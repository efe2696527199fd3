// Between the public types (tierup::v1) and the runtime's own.
#pragma once

#include <memory>
#include <new>
#include <utility>

#include "tierup/base/error.h"
#include "tierup/error.h"
#include "tierup/options.h"
#include "tierup/pass.h"
#include "tierup/tensor.h"
#include "tierup/tensor/ivalue.h"
#include "tierup/value.h"

namespace tierup::executor {
class GraphRewrite;
}

namespace tierup::v1 {

struct Access {
  static ::tierup::Tensor unwrap(const Tensor& tensor) {
    return ::tierup::Tensor(Ref<TensorImpl>(static_cast<TensorImpl*>(tensor.impl_)));
  }
  static Tensor wrap(::tierup::Tensor tensor) {
    Tensor result;
    result.impl_ = std::move(tensor).take().leak();
    return result;
  }
  static const IValue& unwrap(const Value& value) {
    return *std::launder(reinterpret_cast<const IValue*>(value.storage_));
  }
  static IValue& unwrap(Value& value) {
    return *std::launder(reinterpret_cast<IValue*>(value.storage_));
  }
  static void* storage(Value& value) { return value.storage_; }
  static Value wrap(IValue value) {
    Value result;
    unwrap(result) = std::move(value);
    return result;
  }
  static executor::GraphRewrite& rewrite(PassGraph& graph) {
    return *static_cast<executor::GraphRewrite*>(graph.rewrite_);
  }
  static PassGraph pass_graph(void* rewrite) { return PassGraph(rewrite); }
  template <typename Handle>
  static auto& impl(const Handle& handle) {
    return *handle.impl_;
  }
  template <typename Handle>
  static auto& impl_ref(const Handle& handle) {
    return handle.impl_;
  }
  static std::shared_ptr<const std::atomic<bool>> flag(const CancellationToken& token) {
    return token.flag_;
  }
};

// Throws the public form of an internal error.
[[noreturn]] void rethrow(const ::tierup::Error& error);
[[noreturn]] void rethrow_other(const std::exception& error);

// Runs `body`; whatever it throws leaves as v1::Error. Every function of the API goes through it.
template <typename Body>
decltype(auto) guarded(Body&& body) {
  try {
    return body();
  } catch (const ::tierup::Error& error) {
    rethrow(error);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    rethrow_other(error);
  }
}

}  // namespace tierup::v1
