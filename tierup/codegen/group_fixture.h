// For tests: fusion groups made by hand, compiled and run.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tierup/codegen/compile_groups.h"
#include "tierup/codegen/group_kernel.h"
#include "tierup/ir/graph_editor.h"
#include "tierup/ops/regions/fusion_group.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::codegen {

inline ops::GroupArgument input(uint32_t index) {
  return {ops::GroupArgument::Source::kInput, index, {}};
}
inline ops::GroupArgument member(uint32_t index) {
  return {ops::GroupArgument::Source::kMember, index, {}};
}
inline ops::GroupArgument constant(IValue value) {
  return {ops::GroupArgument::Source::kConstant, 0, std::move(value)};
}
inline ops::GroupMember call(std::string_view op, std::vector<ops::GroupArgument> arguments) {
  const ops::Op* found = ops::OpTable::instance().find(op);
  EXPECT_NE(found, nullptr) << op;
  return {found, std::move(arguments)};
}

// Makes the kernels of a group that says what it expects.
inline void compile(const Ref<ops::FusionGroup>& group, const Library& library,
                    const CompileOptions& options) {
  ir::Graph graph;
  ir::GraphEditor editor(graph);
  ir::Value* capsule = editor.constant(IValue::capsule(group));
  ir::Node* step = editor.create_bare_op(*ops::OpTable::instance().find("tierup::fusion_group"));
  editor.add_input(step, capsule);
  compile_groups(
      graph, [&]() -> const Library& { return library; }, options, std::atomic<bool>(false));
}

// A group whose kernels are made for inputs like these.
inline Ref<ops::FusionGroup> compiled_group(ops::GroupProgram program,
                                            const std::vector<Tensor>& like,
                                            const Library& library = Library::instance(),
                                            const CompileOptions& options = process_options()) {
  auto group = make_ref<ops::FusionGroup>(std::move(program));
  std::vector<ops::ValueForm> forms;
  for (const Tensor& tensor : like) forms.push_back(ops::form_of(*tensor.impl()));
  group->expect(std::move(forms), std::vector<bool>(like.size(), false));
  compile(group, library, options);
  return group;
}

// The outputs of a run; `twin` runs the members one by one.
inline std::vector<Tensor> run_group(const ops::FusionGroup& group, std::vector<Tensor> inputs,
                                     bool twin = false) {
  std::vector<IValue> args(inputs.begin(), inputs.end());
  inputs.clear();
  std::vector<IValue> results(group.program().outputs.size());
  ops::RunContext context;
  ops::OpCall call{args, results, context};
  twin ? group.run_twin(call) : group.run(call);
  std::vector<Tensor> tensors;
  for (const IValue& result : results) tensors.push_back(result.to_tensor());
  return tensors;
}

// Same dtype, shape and strides, and the same bits but for which NaN.
void expect_same(const Tensor& a, const Tensor& b, const std::string& what);

// What has to answer.
enum class By { kKernel, kTwin, kEither };

// The group gives what its members give one by one, on all threads and on one.
void expect_twin(const ops::FusionGroup& group, const std::vector<Tensor>& inputs,
                 const std::string& what, By by = By::kKernel);

// Whether compiled kernels can be had here at all.
inline bool has_library() { return Library::instance().api() != nullptr; }

// In SetUp of tests of compiled kernels: a build without the code generator has nothing to test;
// one that made it must be able to load it.
#ifdef TIERUP_BUILDS_CODEGEN
#define TIERUP_NEED_CODEGEN() ASSERT_TRUE(has_library()) << Library::instance().error()
#else
#define TIERUP_NEED_CODEGEN() \
  if (!has_library()) GTEST_SKIP() << "built without the code generator"
#endif

}  // namespace tierup::codegen
