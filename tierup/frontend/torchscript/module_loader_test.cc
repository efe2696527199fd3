// Whole archives of the tiny zoo: they load, every method compiles, every graph verifies.
#include "tierup/frontend/torchscript/module_loader.h"

#include <gtest/gtest.h>

#include "tierup/base/error.h"
#include "tierup/ir/verifier.h"

namespace tierup::frontend::torchscript {
namespace {

LoadedModule load_zoo(const std::string& name) {
  return load_torchscript(archive::ModelArchive::open("tests/data/zoo/" + name));
}

TEST(ModuleLoader, names_parameters_by_their_path) {
  const LoadedModule module = load_zoo("mlp3.pt");
  std::vector<std::string> names;
  for (const NamedTensor& tensor : named_tensors(*module.root)) names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias",
                                             "fc3.weight", "fc3.bias"}));
}

TEST(ModuleLoader, compiles_a_method_on_first_use) {
  const LoadedModule module = load_zoo("mlp3.pt");
  const Ref<Callable> forward = module.root->type->find_method("forward");
  ASSERT_TRUE(static_cast<bool>(forward));
  const ir::Function& function = ir::as_function(*forward);
  EXPECT_EQ(function.schema().arguments.size(), 2u);
  EXPECT_EQ(function.graph(), function.graph());
  EXPECT_EQ(function.graph()->inputs().size(), 2u);
  EXPECT_TRUE(ir::find_issues(*function.graph()).empty());
}

TEST(ModuleLoader, refuses_a_state_dict) { EXPECT_THROW(load_zoo("mlp3.pt2"), Error); }

}  // namespace
}  // namespace tierup::frontend::torchscript
