// CaseFile: a recorded case of a model as values of the public API, for programs over it. Includes
// nothing of the rooms.
//
//   const CaseFile file("model.case0.safetensors");
//   for (const RecordedCall& call : file.calls()) {
//     const v1::Value found = module.run(call.method, copies_of(call.args));
//     if (call.expected) std::cout << file.compare(found, call).difference;
//   }
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tierup/value.h"

namespace tierup::api {

// One call of a case, with what it expects: a result, or an error that has this text.
struct RecordedCall {
  std::string method;  // "forward" goes through Module::call.
  std::vector<v1::Value> args;
  std::optional<v1::Value> expected;
  std::optional<std::string> error;
};

struct ResultComparison {
  std::string difference;  // The first, as a phrase; empty if all is within the tolerances.
  double max_absolute_error = 0;
  double largest_value = 0;   // Of what was expected.
  double relative_error = 0;  // Of the largest value.
};

// Thread rule: constant but for set_tolerances().
class CaseFile {
 public:
  // Throws v1::Error: kNotFound, kCorruptArchive.
  explicit CaseFile(const std::string& path);
  ~CaseFile();
  CaseFile(CaseFile&&) noexcept;
  CaseFile& operator=(CaseFile&&) noexcept;

  // In order; state that the model keeps goes on from one to the next.
  const std::vector<RecordedCall>& calls() const;
  // The calls are to be recorded for backward passes (RunOptions::gradients).
  bool gradients() const;
  // Instead of the file's, where given.
  void set_tolerances(std::optional<double> rtol, std::optional<double> atol);

  // With the recorded result of the call, which must have one. A case of flattened tensors is
  // compared with the tensors of `found`, depth first.
  ResultComparison compare(const v1::Value& found, const RecordedCall& call) const;
  // With another value, by the file's tolerances.
  ResultComparison compare(const v1::Value& found, const v1::Value& expected) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What differs in an error's text from what the case expects to stand in it; empty if it does.
std::string compare_error(const std::string& raised, const std::string& expected);
// As the comparison's relative_error, of structures that need not be the same: infinite if numbers
// or shapes do not match.
double relative_deviation(const v1::Value& found, const v1::Value& expected);
// Arguments that a call may write to: tensors that shared memory go on sharing it.
std::vector<v1::Value> copies_of(const std::vector<v1::Value>& args);

}  // namespace tierup::api
