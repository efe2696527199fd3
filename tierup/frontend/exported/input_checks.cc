#include "tierup/frontend/exported/input_checks.h"

#include <fmt/format.h>

#include <charconv>

#include "tierup/base/error.h"

namespace tierup::frontend::exported {
namespace {

using Kind = Argument::Kind;

IValue constant_of(const Argument& argument) {
  switch (argument.kind) {
    case Kind::kInt: return argument.integer;
    case Kind::kFloat: return argument.floating;
    case Kind::kBool: return argument.integer != 0;
    case Kind::kString: return argument.text;
    default: return {};
  }
}

std::string value_text(const IValue& value) {
  if (value.is_tensor()) return value.to_tensor().describe();
  return value.is_str() ? "'" + value.to_str() + "'" : to_text(value);
}

bool same_constant(const IValue& a, const IValue& b) {
  return a.is_tensor() == b.is_tensor() && !a.is_tensor() && values_equal(a, b);
}

// "L['x'].size()[1]" -> ("L['x']", 1); nullopt for another accessor.
std::optional<std::pair<std::string, int64_t>> split_source(const std::string& source) {
  const std::string size = ".size()[";
  const size_t at = source.find(size);
  if (at == std::string::npos) {
    return source.ends_with("]") ? std::optional(std::pair(source, int64_t{-1})) : std::nullopt;
  }
  int64_t dim = 0;
  const char* begin = source.data() + at + size.size();
  const auto [end, error] = std::from_chars(begin, source.data() + source.size(), dim);
  if (error != std::errc() || end + 1 != source.data() + source.size() || dim < 0)
    return std::nullopt;
  return std::pair(source.substr(0, at), dim);
}

// "L['d']['x']" names the path "d['x']"; "L['args'][0]" the path "args_0".
std::string path_of_source(const std::string& source) {
  if (!source.starts_with("L['")) return source;
  const size_t end = source.find("']");
  if (end == std::string::npos) return source;
  const std::string name = source.substr(3, end - 3);
  const std::string rest = source.substr(end + 2);
  if (name != "args" || !rest.starts_with("[")) return name + rest;
  const size_t close = rest.find(']');
  return "args_" + rest.substr(1, close - 1) + rest.substr(close + 1);
}

}  // namespace

InputChecks::InputChecks(const ProgramData& program, const TreeSpec& in_spec, SymbolTable symbols)
    : symbols_(std::move(symbols)) {
  read_leaves(program, in_spec);
  for (const auto& [text, range] : program.range_constraints) {
    ranges_.push_back({text, parse_infix(text, symbols_), range});
  }
  read_guards(program);
}

void InputChecks::read_leaves(const ProgramData& program, const TreeSpec& in_spec) {
  for (const InputSpec& spec : program.inputs) {
    const bool constant = spec.kind == InputSpec::Kind::kConstantInput;
    if (!constant && spec.kind != InputSpec::Kind::kUserInput) continue;
    InputLeaf& leaf = leaves_.emplace_back();
    leaf.name = spec.name;
    leaf.kind = spec.argument.kind;
    leaf.is_constant = constant || !spec.argument.is_reference();
    if (leaf.is_constant) {
      leaf.constant = constant_of(spec.argument);
    } else if (const auto meta = program.graph.tensor_values.find(spec.argument.text);
               meta != program.graph.tensor_values.end()) {
      leaf.dtype = meta->second.dtype;
      for (const SymInt& size : meta->second.sizes) {
        leaf.sizes.push_back(size.is_static() ? parse_srepr(std::to_string(size.value), symbols_)
                                              : parse_srepr(size.expression, symbols_));
      }
    } else if (leaf.kind == Kind::kSymInt) {
      const auto number = program.graph.sym_int_values.find(spec.argument.text);
      if (number != program.graph.sym_int_values.end() && !number->second.is_static()) {
        leaf.number = parse_srepr(number->second.expression, symbols_);
      }
    } else if (leaf.kind == Kind::kTensor) {
      fail(ErrorCode::kCorruptArchive, "the input '{}' has no entry in tensor_values",
           spec.argument.text);
    }
  }
  size_t next = 0;
  flatten_call(
      in_spec, program.forward_arg_names, {}, {},
      [&](const std::string& path, const std::optional<IValue>&) {
        require(next < leaves_.size(), ErrorCode::kCorruptArchive,
                "the calling convention has more leaves than the signature has user inputs ({})",
                leaves_.size());
        leaves_[next++].path = path;
      });
  require(next == leaves_.size(), ErrorCode::kCorruptArchive,
          "the calling convention has {} leaves, the signature {} user inputs", next,
          leaves_.size());
}

void InputChecks::read_guards(const ProgramData& program) {
  for (const std::string& text : program.guards) {
    const size_t known = guard_sources_.size();
    bool readable = true;
    Expression expression;
    try {
      expression = parse_infix(text, guard_sources_);
    } catch (const Error&) {
      readable = false;
    }
    for (size_t s = known; s < guard_sources_.size(); ++s) {
      guard_slots_.emplace_back();
      const auto source = split_source(guard_sources_.name(s));
      if (!source) continue;
      const std::string path = path_of_source(source->first);
      for (size_t i = 0; i < leaves_.size(); ++i) {
        const bool by_index = source->first == fmt::format("L['flat_args'][{}]", i);
        if (by_index || leaves_[i].path == path) guard_slots_[s] = std::pair(i, source->second);
      }
    }
    for (size_t s = known; s < guard_sources_.size(); ++s)
      readable = readable && guard_slots_[s].has_value();
    if (readable) {
      guards_.push_back({text, std::move(expression)});
    } else {
      dropped_guards_.push_back(text);
    }
  }
}

void InputChecks::check_leaf(const InputLeaf& leaf, const IValue& value) const {
  if (!leaf.is_used) return;
  if (leaf.kind == Kind::kSymInt) {
    require(value.is_int(), ErrorCode::kTypeError, "input '{}': expected an int, got {}", leaf.path,
            value.tag_name());
    return;
  }
  if (leaf.kind != Kind::kTensor) return;
  require(value.is_tensor(), ErrorCode::kTypeError,
          "input '{}': expected a tensor {} of {} dimensions, got {}", leaf.path,
          dtype_name(leaf.dtype), leaf.sizes.size(), value_text(value));
  const Tensor tensor = value.to_tensor();
  require(tensor.dtype() == leaf.dtype, ErrorCode::kTypeError,
          "input '{}': expected dtype {}, got {} (the program was exported for {})", leaf.path,
          dtype_name(leaf.dtype), dtype_name(tensor.dtype()), dtype_name(leaf.dtype));
  require(static_cast<size_t>(tensor.dim()) == leaf.sizes.size(), ErrorCode::kInvalidArgument,
          "input '{}': expected {} dimensions, got {} (shape {})", leaf.path, leaf.sizes.size(),
          tensor.dim(), shape_string(tensor.sizes()));
}

bool InputChecks::bind_size(const InputLeaf& leaf, size_t dim, int64_t size,
                            SymbolValues& symbols) const {
  const Expression& expression = leaf.sizes[dim];
  if (expression.function == "Number") {
    require(expression.number.integer == size, ErrorCode::kInvalidArgument,
            "input '{}': dimension {} is {}, must be {} (it was static at export; mark it dynamic "
            "to vary it)",
            leaf.path, dim, size, expression.number.integer);
    return true;
  }
  if (expression.is_symbol() && !symbols[expression.symbol]) {
    symbols[expression.symbol] = Number{false, size, 0};
    return true;
  }
  if (const auto expected = evaluate(expression, symbols)) {
    require(static_cast<int64_t>(expected->as_double()) == size, ErrorCode::kInvalidArgument,
            "input '{}': dimension {} is {}, must be {} = {} (bound by another input)", leaf.path,
            dim, size, to_string(expression, symbols_), expected->as_double());
    return true;
  }
  const auto solution = solve_affine(expression, symbols, size);
  if (!solution) return false;
  require(solution->divisible, ErrorCode::kInvalidArgument,
          "input '{}': dimension {} is {}, must be of the form {}", leaf.path, dim, size,
          to_string(expression, symbols_));
  symbols[solution->symbol] = Number{false, solution->value, 0};
  return true;
}

void InputChecks::bind_sizes(const std::vector<std::optional<IValue>>& values,
                             SymbolValues& symbols) const {
  std::vector<std::pair<size_t, size_t>> open;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const InputLeaf& leaf = leaves_[i];
    if (leaf.is_constant || !leaf.is_used) continue;
    if (leaf.number && leaf.number->is_symbol()) {
      symbols[leaf.number->symbol] = Number{false, values[i]->to_int(), 0};
    }
    if (leaf.kind != Kind::kTensor) continue;
    const TensorImpl* tensor = values[i]->tensor_impl();
    for (size_t d = 0; d < leaf.sizes.size(); ++d) {
      if (!bind_size(leaf, d, tensor->sizes[d], symbols)) open.emplace_back(i, d);
    }
  }
  for (bool progress = true; progress && !open.empty();) {
    progress = std::erase_if(open, [&](const auto& place) {
                 return bind_size(leaves_[place.first], place.second,
                                  values[place.first]->tensor_impl()->sizes[place.second], symbols);
               }) > 0;
  }
}

std::string InputChecks::first_size_with(const std::vector<std::optional<IValue>>& values,
                                         const Expression& expression) const {
  for (size_t i = 0; i < leaves_.size(); ++i) {
    for (size_t d = 0; d < leaves_[i].sizes.size() && values[i] && values[i]->is_tensor(); ++d) {
      const Expression& size = leaves_[i].sizes[d];
      if (size.is_symbol() && expression.is_symbol() && size.symbol == expression.symbol) {
        return fmt::format("input '{}': dimension {}", leaves_[i].path, d);
      }
    }
    if (leaves_[i].number && expression.is_symbol() &&
        leaves_[i].number->symbol == expression.symbol) {
      return fmt::format("input '{}'", leaves_[i].path);
    }
  }
  return "the size " + to_string(expression, symbols_);
}

void InputChecks::check_ranges(const std::vector<std::optional<IValue>>& values,
                               const SymbolValues& symbols, bool strict) const {
  for (const NamedRange& named : ranges_) {
    const auto value = evaluate(named.expression, symbols);
    if (!value || value->is_float) continue;
    const bool low_counts = named.range.low && (strict || *named.range.low > 2);
    const bool too_low = low_counts && value->integer < *named.range.low;
    const bool too_high = named.range.high && value->integer > *named.range.high;
    if (!too_low && !too_high) continue;
    const std::string high = named.range.high ? std::to_string(*named.range.high) : "unbounded";
    fail(ErrorCode::kOutOfRange, "{} is {}, must be {} {} (symbol {}, declared range [{}, {}])",
         first_size_with(values, named.expression), value->integer,
         too_low ? "at least" : "at most", too_low ? *named.range.low : *named.range.high,
         named.text, named.range.low.value_or(0), high);
  }
}

void InputChecks::check_guards(const std::vector<std::optional<IValue>>& values) const {
  SymbolValues slots(guard_slots_.size());
  for (size_t s = 0; s < guard_slots_.size(); ++s) {
    if (!guard_slots_[s]) continue;
    const auto [leaf, dim] = *guard_slots_[s];
    const auto& value = values[leaf];
    if (!value) continue;
    if (dim < 0) {
      if (value->is_int() || value->is_float())
        slots[s] =
            Number{value->is_float(), value->is_int() ? value->to_int() : 0, value->to_float()};
    } else if (const TensorImpl* tensor = value->tensor_impl();
               tensor != nullptr && static_cast<size_t>(dim) < tensor->sizes.size()) {
      slots[s] = Number{false, tensor->sizes[static_cast<size_t>(dim)], 0};
    }
  }
  for (const Guard& guard : guards_) {
    const auto holds = evaluate(guard.expression, slots);
    require(!holds || holds->as_double() != 0, ErrorCode::kInvalidArgument, "guard failed: {}",
            guard.text);
  }
}

std::vector<IValue> InputChecks::check(const std::vector<std::optional<IValue>>& values,
                                       const CheckOptions& options) const {
  TIERUP_CHECK(values.size() == leaves_.size());
  std::vector<IValue> result;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const InputLeaf& leaf = leaves_[i];
    if (leaf.is_constant) {
      require(!values[i] || same_constant(*values[i], leaf.constant), ErrorCode::kInvalidArgument,
              "input '{}' must be {}, the value it was exported with, got {}", leaf.path,
              value_text(leaf.constant), value_text(values[i].value_or(IValue())));
      continue;
    }
    require(values[i].has_value(), ErrorCode::kInvalidArgument, "missing argument '{}'", leaf.path);
    check_leaf(leaf, *values[i]);
    result.push_back(*values[i]);
  }
  SymbolValues symbols(symbols_.size());
  bind_sizes(values, symbols);
  check_ranges(values, symbols, options.strict_ranges);
  if (options.guards) check_guards(values);
  return result;
}

Range InputChecks::range_of(const Expression& expression) const {
  const std::string text = to_string(expression, symbols_);
  for (const NamedRange& named : ranges_) {
    if (to_string(named.expression, symbols_) == text) return named.range;
  }
  return {};
}

std::string InputChecks::sizes_text(const std::vector<Expression>& sizes) const {
  std::string text;
  for (const Expression& size : sizes)
    text += (text.empty() ? "" : ", ") + to_string(size, symbols_);
  return text;
}

std::string InputChecks::describe(const OutputLeaf& leaf) const {
  if (leaf.name.empty()) return "a constant";
  if (!leaf.dtype) return leaf.name;
  return fmt::format("{}: {}[{}]", leaf.name, dtype_name(*leaf.dtype), sizes_text(leaf.sizes));
}

std::vector<std::string> InputChecks::describe() const {
  std::vector<std::string> lines;
  for (const InputLeaf& leaf : leaves_) {
    if (leaf.is_constant) {
      lines.push_back(leaf.path + " = " + value_text(leaf.constant));
      continue;
    }
    if (leaf.kind != Kind::kTensor) {
      lines.push_back(leaf.path + ": int");
      continue;
    }
    lines.push_back(
        fmt::format("{}: {}[{}]", leaf.path, dtype_name(leaf.dtype), sizes_text(leaf.sizes)));
  }
  return lines;
}

std::vector<std::string> InputChecks::describe_ranges() const {
  std::vector<std::string> lines;
  for (const NamedRange& named : ranges_) {
    lines.push_back(
        fmt::format("{} in [{}, {}]", named.text, named.range.low.value_or(0),
                    named.range.high ? std::to_string(*named.range.high) : "unbounded"));
  }
  return lines;
}

}  // namespace tierup::frontend::exported
