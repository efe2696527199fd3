// See tir_program.h.
#include "tests/tir/tir_program.h"

#include "tierup/ops/table/op_table.h"
#include "tierup/runtime/lower.h"
#include "tierup/runtime/program.h"

namespace tierup::tests {

TextFunction::TextFunction(std::string name, std::shared_ptr<const ir::Graph> graph)
    : Function(std::move(name)), graph_(std::move(graph)) {
  schema_.name = this->name();
  for (const ir::Value* input : graph_->inputs()) {
    schema_.arguments.push_back({.name = input->name(), .type = input->type()});
  }
  for (const ir::Value* output : graph_->outputs()) {
    schema_.returns.push_back({.type = output->type()});
  }
}

TirProgram::TirProgram(const TirFile& file) {
  for (const std::string& text : file.header_texts("class")) {
    const size_t open = text.find('(');
    const std::string name = text.substr(0, open);
    const auto type = ClassType::make(name, true);
    classes_[name] = type;
    std::string rest = text.substr(open + 1, text.rfind(')') - open - 1);
    while (!rest.empty()) {
      // Attributes are separated by ";", since types hold commas.
      const size_t end = std::min(rest.find(';'), rest.size());
      const std::string attribute = rest.substr(0, end);
      rest = end < rest.size() ? rest.substr(end + 1) : "";
      const size_t colon = attribute.find(':');
      std::string attribute_name = attribute.substr(0, colon);
      std::erase(attribute_name, ' ');
      type->add_attribute(
          {attribute_name, ir::parse_type_text(attribute.substr(colon + 1), context())});
    }
  }
}

TirProgram::~TirProgram() {
  for (const auto& [name, function] : functions_) function->forget_code();
}

ir::TextContext TirProgram::context() const {
  ir::TextContext context;
  context.operators = &ops::OpTable::instance();
  context.types = [this](std::string_view name) -> TypePtr {
    const auto found = classes_.find(name);
    return found == classes_.end() ? nullptr : found->second;
  };
  context.functions = [this](std::string_view name) -> Ref<Callable> {
    const auto found = functions_.find(name);
    if (found == functions_.end()) return nullptr;
    return found->second;
  };
  return context;
}

std::shared_ptr<ir::Graph> TirProgram::parse(const TirGraph& graph) {
  ir::TextContext parse_context = context();
  parse_context.first_line = graph.first_line;
  parse_context.lines = &lines_;
  std::shared_ptr<ir::Graph> parsed = ir::parse_graph(graph.text, parse_context);
  const auto function = make_ref<TextFunction>(graph.name, parsed->clone());
  functions_[graph.name] = function;
  for (const Directive& directive : graph.directives) {
    if (directive.name != "method") continue;
    const size_t dot = directive.text.rfind('.');
    classes_.at(directive.text.substr(0, dot))
        ->add_method(directive.text.substr(dot + 1), function);
  }
  return parsed;
}

int TirProgram::line_of(const ir::Node* node) const {
  const auto found = lines_.find(node);
  return found == lines_.end() ? 0 : found->second;
}

std::string run_graph(const std::shared_ptr<const ir::Graph>& graph, std::vector<IValue> args) {
  runtime::Program program([](const ir::Function& function) { return function.graph(); });
  const auto plan = runtime::lower(graph);
  ops::RunContext run;
  const auto state = make_ref<runtime::RunState>();
  const auto results = program.run_plan(*plan, args, run, Ref<const runtime::RunState>(state));
  std::string text;
  for (const IValue& result : results) {
    if (!text.empty()) text += ", ";
    text += ir::print_constant(result);
  }
  return text;
}

}  // namespace tierup::tests
