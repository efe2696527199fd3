// For tests of plugins: small models as text, tensors of numbers, and failures as text.
#pragma once

#include <functional>
#include <string>
#include <vector>

// What is inside first: the public headers open their names to what follows.
#include "tierup/archive/model_archive.h"
#include "tierup/archive/zip_builder.h"
#include "tierup/tierup.h"

namespace tierup::fixture {

// A model whose root has the methods of `body` and no attributes.
inline v1::Module load_methods(const std::string& body, const v1::Options& options) {
  archive::testing::PickleBuilder pickle;
  pickle.global("__torch__", "M").op(")\x81}(").str("training").op("\x88ub");
  const std::string head =
      "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n";
  const std::string archive = archive::testing::ZipBuilder()
                                  .add("m/data.pkl", pickle.finish())
                                  .add("m/code/__torch__.py", head + body)
                                  .add("m/constants.pkl", "\x80\x02).")
                                  .add("m/version", "3\n")
                                  .finish();
  return v1::Module::load(std::as_bytes(std::span(archive.data(), archive.size())), options);
}

inline v1::Tensor floats(const std::vector<float>& values) {
  return v1::Tensor::of<float>(values, std::vector<int64_t>{static_cast<int64_t>(values.size())});
}

// "kNotFound: ..." as the error says it.
inline std::string failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const v1::Error& error) {
    return std::string(v1::error_code_name(error.code())) + ": " + error.what();
  }
  return "no error";
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace tierup::fixture
