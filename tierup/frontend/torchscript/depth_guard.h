// FunctionEmitter::DepthGuard: bounds how deep emission nests.
#pragma once

#include "tierup/base/error.h"
#include "tierup/frontend/torchscript/function_emitter.h"

namespace tierup::frontend::torchscript {

class FunctionEmitter::DepthGuard {
 public:
  explicit DepthGuard(FunctionEmitter& emitter) : depth_(emitter.depth_) {
    // The parser bounds what is written; a long chain of early returns nests beyond that.
    require(++depth_ <= 2 * kMaxNesting, ErrorCode::kRecursionLimit,
            "the code of a function nests too deep");
  }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  int& depth_;
};

}  // namespace tierup::frontend::torchscript
