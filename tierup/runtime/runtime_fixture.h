// RuntimeTest: plans made from graph texts over a few operators of the tests' own.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tierup/ir/text.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/runtime/lower.h"
#include "tierup/runtime/program.h"

namespace tierup::runtime::testing_rows {

inline int64_t add(int64_t a, int64_t b) { return a + b; }
inline int64_t multiply(int64_t a, int64_t b) { return a * b; }
inline bool is_less(int64_t a, int64_t b) { return a < b; }
inline bool is_positive(int64_t a) { return a > 0; }
inline int64_t uses(const IValue& list) { return list.to_list().use_count(); }
inline IValue append(const IValue& list, const IValue& item) {
  list.to_list().items.push_back(item);
  return list;
}
inline int64_t fail_always(const Tensor& tensor, int64_t n) {
  fail(ErrorCode::kInvalidArgument, "shapes do not fit: {} {}", tensor.describe(), n);
}
inline int64_t nap(int64_t milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  return milliseconds;
}
// Two steps that must run at the same time.
class Meeting {
 public:
  // Whether the other one comes; a minute is long enough for every machine.
  bool attend() {
    std::unique_lock<std::mutex> lock(mutex_);
    ++present_;
    come_.notify_all();
    return come_.wait_for(lock, std::chrono::minutes(1), [&] { return present_ >= 2; });
  }
  // What test::meet takes.
  int64_t address() { return reinterpret_cast<int64_t>(this); }

 private:
  std::mutex mutex_;
  std::condition_variable come_;
  int present_ = 0;
};
inline int64_t meet(int64_t meeting) {
  return reinterpret_cast<Meeting*>(meeting)->attend() ? 1 : 0;
}

inline const ops::OpRow kRows[] = {
    {"test::add(int a, int b) -> int", ops::boxed<&add>},
    {"test::mul(int a, int b) -> int", ops::boxed<&multiply>},
    {"test::lt(int a, int b) -> bool", ops::boxed<&is_less>},
    {"test::positive(int a) -> bool", ops::boxed<&is_positive>},
    {"test::uses(int[] a) -> int", ops::boxed<&uses>},
    {"test::append(int[](a!) list, int item) -> int[](a!)", ops::boxed<&append>},
    {"test::fail(Tensor tensor, int n) -> int", ops::boxed<&fail_always>},
    {"test::nap(int milliseconds) -> int", ops::boxed<&nap>},
    {"test::meet(int meeting) -> int", ops::boxed<&meet>},
};

}  // namespace tierup::runtime::testing_rows

namespace tierup::runtime {

class Lookup final : public ir::OperatorLookup {
 public:
  Lookup() {
    for (const ops::OpRow& row : testing_rows::kRows)
      ops_.push_back(std::make_unique<ops::Op>(row));
  }
  const ir::Operator* find(std::string_view name) const override {
    for (const auto& op : ops_) {
      if (op->schema().qualified_name() == name) return op.get();
    }
    return nullptr;
  }

 private:
  std::vector<std::unique_ptr<ops::Op>> ops_;
};

// A function whose body is given as text; its schema is its name.
class TextFunction final : public ir::Function {
 public:
  TextFunction(std::string name, std::shared_ptr<const ir::Graph> graph)
      : Function(std::move(name)), graph_(std::move(graph)) {}
  const ir::Schema& schema() const override { return schema_; }
  const std::shared_ptr<const ir::Graph>& graph() const override { return graph_; }
  void set_graph(std::shared_ptr<const ir::Graph> graph) { graph_ = std::move(graph); }

 private:
  ir::Schema schema_;
  std::shared_ptr<const ir::Graph> graph_;
};

class RuntimeTest : public testing::Test {
 protected:
  // Functions that call themselves, and methods of the class that they take, hold themselves.
  void TearDown() override {
    for (const auto& [name, function] : functions_) function->set_graph(nullptr);
  }

  std::shared_ptr<const ir::Graph> parse(const std::string& text) {
    ir::TextContext context;
    context.operators = &lookup_;
    context.functions = [&](std::string_view name) -> Ref<Callable> {
      return functions_.at(std::string(name));
    };
    context.types = [&](std::string_view name) -> TypePtr {
      const auto found = classes_.find(std::string(name));
      return found == classes_.end() ? nullptr : found->second;
    };
    return ir::parse_graph(text, context);
  }

  Ref<TextFunction> define(const std::string& name, const std::string& text) {
    auto function = make_ref<TextFunction>(name, nullptr);
    functions_[name] = function;
    function->set_graph(parse(text));
    return function;
  }

  IValue run(const std::string& text, std::vector<IValue> args) {
    const auto function = make_ref<TextFunction>("main", parse(text));
    kept_.push_back(function);
    return program_.run(*function, args, context_, state_);
  }

  Error failure(const std::string& text, std::vector<IValue> args) {
    try {
      run(text, std::move(args));
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "no error";
    return Error(ErrorCode::kInternal, "none");
  }

  Lookup lookup_;
  std::map<std::string, Ref<TextFunction>> functions_;
  std::map<std::string, std::shared_ptr<ClassType>> classes_;
  std::vector<Ref<TextFunction>> kept_;
  ops::RunContext context_;
  Ref<RunState> writable_state_ = make_ref<RunState>();
  Ref<const RunState> state_ = Ref<const RunState>(writable_state_.get());
  Program program_{[](const ir::Function& f) { return f.graph(); }, {.fork_threads = 2}};
};

}  // namespace tierup::runtime
