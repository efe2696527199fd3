#include "tierup/api/model/user_passes.h"

#include <set>

#include "tierup/base/error.h"
#include "tierup/ir/verifier.h"
#include "tierup/passes/pipeline.h"

namespace tierup::api {
namespace {

using executor::GraphRewrite;
using executor::PassPlace;
using executor::UserPass;

void run_user_pass(const UserPass& pass, const ops::ExternalOperators* operators,
                   passes::PassContext& context) {
  const uint64_t edits = context.editor().edit_count();
  try {
    GraphRewrite rewrite(context.editor(), operators);
    pass.run(rewrite);
    for (const std::string& note : rewrite.notes()) context.note(note);
  } catch (const std::exception& error) {
    fail(ErrorCode::kInvalidArgument, "the pass '{}' failed: {}", pass.name, error.what());
  }
  if (context.editor().edit_count() == edits) return;
  context.count("edits", static_cast<int64_t>(context.editor().edit_count() - edits));
  const std::vector<ir::GraphIssue> issues = ir::find_issues(context.graph());
  std::string text;
  for (const ir::GraphIssue& issue : issues) text += "\n- " + issue.message;
  require(issues.empty(), ErrorCode::kInvalidArgument,
          "the pass '{}' left a graph that is wrong:{}", pass.name, text);
  passes::find_pass("dead_code_elimination")->run(context);
}

}  // namespace

std::shared_ptr<const UserPasses> make_user_passes(std::vector<UserPass> passes,
                                                   const executor::Plugins* plugins) {
  if (plugins != nullptr) {
    for (UserPass& pass : plugins->passes()) passes.push_back(std::move(pass));
  }
  if (passes.empty()) return nullptr;
  const ops::ExternalOperators* operators = plugins == nullptr ? nullptr : &plugins->operators();
  auto result = std::make_shared<UserPasses>();
  std::set<std::string> names;
  for (UserPass& pass : passes) {
    require(!pass.name.empty() && pass.run != nullptr, ErrorCode::kInvalidArgument,
            "a pass has no name or nothing to run");
    require(names.insert(pass.name).second && passes::find_pass(pass.name) == nullptr,
            ErrorCode::kInvalidArgument, "there is a pass '{}' already", pass.name);
    const PassPlace place = pass.place;
    passes::Pass wrapped{pass.name,
                         [operators, own = std::move(pass)](passes::PassContext& context) {
                           run_user_pass(own, operators, context);
                         }};
    switch (place) {
      case PassPlace::kTier0: result->tier0.after.push_back(std::move(wrapped)); break;
      case PassPlace::kSpecialized: result->specialized.before.push_back(std::move(wrapped)); break;
      case PassPlace::kLast: result->specialized.after.push_back(std::move(wrapped)); break;
    }
  }
  return result;
}

}  // namespace tierup::api
