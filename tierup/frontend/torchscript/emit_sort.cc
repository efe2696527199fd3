// sort and sorted of lists of objects: by the class's own __lt__, which no operator could call.
#include <fmt/format.h>

#include "tierup/frontend/torchscript/function_emitter.h"

namespace tierup::frontend::torchscript {

using ir::Value;

namespace {

// Stable, by insertion; such lists are short. {0} is the class.
constexpr std::string_view kSortSource =
    R"(def sort(self: List[{0}], reverse: bool=False) -> List[{0}]:
  for i in range(1, len(self)):
    item = self[i]
    place = i
    moving = True
    while moving and place > 0:
      before = self[place - 1]
      if reverse:
        moving = before < item
      else:
        moving = item < before
      if moving:
        self[place] = before
        place = place - 1
    self[place] = item
  return self
)";

}  // namespace

Ref<ScriptFunction> CompilationUnit::sort_function(const ClassType& type) {
  Ref<ScriptFunction>& function = sort_functions_[&type];
  if (!function) {
    const auto source = std::make_shared<const ir::Source>(
        "sort of " + type.name(), fmt::format(fmt::runtime(kSortSource), type.name()));
    const std::shared_ptr<const FileUnit> file = parse_file(source);
    function = make_ref<ScriptFunction>("sort of " + type.name(), weak_from_this(), file,
                                        *file->functions()[0], std::weak_ptr<const ClassType>(),
                                        /*is_method=*/false);
  }
  return function;
}

// nullopt unless this is a list of objects of a class with __lt__.
std::optional<Sugared> FunctionEmitter::call_object_sort(const std::string& name,
                                                         const CallArguments& arguments,
                                                         const Span& span) {
  if (name != "aten::sort" && name != "aten::sorted") return std::nullopt;
  const std::vector<Value*> values = arguments.values();
  if (values.empty() || !values[0]->type()->is(TypeKind::kList)) return std::nullopt;
  const ClassType* type = values[0]->type()->element()->as_class();
  if (type == nullptr || !type->find_method("__lt__")) return std::nullopt;
  CallArguments call = arguments;
  if (call.self.has_value()) {
    call.positional.insert(call.positional.begin(), *call.self);
    call.self.reset();
  }
  const bool in_place = name == "aten::sort";
  if (!in_place) call.positional[0].value = aten("copy", {values[0]}, span);
  Value* sorted = call_function(*unit_.sort_function(*type), call, span);
  return Sugared::of(in_place ? builder_.none() : sorted);
}

}  // namespace tierup::frontend::torchscript
