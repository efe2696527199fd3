// print_graph: the writing half of the text form (see text.h).
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <unordered_map>

#include "tierup/ir/text.h"

namespace tierup::ir {
namespace {

constexpr int64_t kMaxInlineElements = 64;

bool is_bare_name(const std::string& name) {
  const auto is_first = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
  };
  if (name.empty() || !is_first(name[0])) return false;
  for (const char c : name) {
    if (!is_first(c) && c != '.' && !(c >= '0' && c <= '9')) return false;
  }
  return true;
}

class Printer {
 public:
  explicit Printer(const TextOptions& options) : options_(options) {}

  void graph(const Graph& graph, int depth) {
    count_names(graph.block());
    out_ += "graph @";
    out_ += is_bare_name(graph.name()) ? graph.name() : quote_text(graph.name());
    params(graph.block());
    out_ += " {\n";
    nodes(graph.block(), depth + 1);
    indent(depth + 1);
    out_ += "return (";
    values(graph.outputs());
    out_ += ")\n";
    indent(depth);
    out_ += '}';
  }

  void node(const Node& node, int depth) {
    indent(depth);
    bool first = true;
    for (const Value* output : node.outputs()) {
      if (!first) out_ += ", ";
      first = false;
      declaration(*output);
    }
    if (!first) out_ += " = ";
    out_ += node.display_name();
    attributes(node, depth);
    out_ += '(';
    values(node.inputs());
    out_ += ')';
    if (options_.ranges && !node.range().empty()) out_ += "  # at " + node.range().location();
    int index = 0;
    for (const Block* block : node.blocks()) {
      out_ += '\n';
      indent(depth + 1);
      out_ += "block" + std::to_string(index++);
      params(*block);
      out_ += ":\n";
      nodes(*block, depth + 2);
      indent(depth + 2);
      out_ += "-> (";
      values(block->returns());
      out_ += ')';
    }
  }

  void count_names(const Block& block) {
    for (const Value* param : block.params()) ++names_[param->name()];
    for (const Node* node : block.nodes()) {
      for (const Value* output : node->outputs()) ++names_[output->name()];
      for (const Block* inner : node->blocks()) count_names(*inner);
    }
  }

  void constant(const IValue& value) {
    switch (value.tag()) {
      case IValue::Tag::kNone: out_ += "None"; return;
      case IValue::Tag::kBool: out_ += value.to_bool() ? "True" : "False"; return;
      case IValue::Tag::kInt: out_ += std::to_string(value.to_int()); return;
      case IValue::Tag::kFloat: out_ += float_text(value.to_float()); return;
      case IValue::Tag::kStr: out_ += quote_text(value.to_str()); return;
      case IValue::Tag::kDevice:
        out_ += "device(" + quote_text(value.to_device().to_string()) + ")";
        return;
      case IValue::Tag::kComplex:
        out_ += "complex(" + float_text(value.to_complex().real()) + ", " +
                float_text(value.to_complex().imag()) + ")";
        return;
      case IValue::Tag::kList: list(value.to_list()); return;
      case IValue::Tag::kTuple: tuple(value.to_tuple()); return;
      case IValue::Tag::kDict: dict(value.to_dict()); return;
      case IValue::Tag::kTensor: tensor(value); return;
      default: from_table(value);
    }
  }

  std::string take() { return std::move(out_); }

 private:
  void indent(int depth) { out_.append(static_cast<size_t>(depth) * 2, ' '); }

  void nodes(const Block& block, int depth) {
    for (const Node* inner : block.nodes()) {
      node(*inner, depth);
      out_ += '\n';
    }
  }

  void params(const Block& block) {
    out_ += '(';
    bool first = true;
    for (const Value* param : block.params()) {
      if (!first) out_ += ", ";
      first = false;
      declaration(*param);
    }
    out_ += ')';
  }

  void declaration(const Value& value) {
    reference(value);
    out_ += " : ";
    out_ += value.type() != nullptr ? value.type()->to_string() : "?";
  }

  void values(std::span<Value* const> list) {
    bool first = true;
    for (const Value* value : list) {
      if (!first) out_ += ", ";
      first = false;
      reference(*value);
    }
  }

  void reference(const Value& value) {
    out_ += '%';
    if (value.name().empty()) {
      out_ += std::to_string(value.id());
      return;
    }
    out_ += is_bare_name(value.name()) ? value.name() : quote_text(value.name());
    const auto count = names_.find(value.name());
    if (options_.ids || (count != names_.end() && count->second > 1)) {
      out_ += '#' + std::to_string(value.id());
    }
  }

  void attributes(const Node& node, int depth) {
    if (node.attrs().empty()) return;
    out_ += '[';
    bool first = true;
    for (const auto& [name, value] : node.attrs()) {
      if (!first) out_ += ", ";
      first = false;
      out_ += attr_name_text(name);
      out_ += '=';
      std::visit([&](const auto& held) { attribute(held, depth); }, value);
    }
    out_ += ']';
  }

  void attribute(int64_t value, int) { out_ += std::to_string(value); }
  void attribute(const std::string& value, int) { out_ += quote_text(value); }
  void attribute(const IValue& value, int) { constant(value); }
  void attribute(const TypePtr& value, int) { out_ += value->to_string(); }
  void attribute(const std::vector<TypePtr>& value, int) {
    out_ += '[';
    for (size_t i = 0; i < value.size(); ++i) out_ += (i > 0 ? ", " : "") + value[i]->to_string();
    out_ += ']';
  }
  void attribute(const Ref<Callable>& value, int) {
    out_ += '@';
    out_ += is_bare_name(value->name()) ? value->name() : quote_text(value->name());
  }
  void attribute(const std::shared_ptr<const Graph>& value, int depth) {
    Printer nested(options_);
    nested.graph(*value, depth + 1);
    out_ += nested.take();
  }

  void items(const std::vector<IValue>& list) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out_ += ", ";
      constant(list[i]);
    }
  }

  void list(const ListValue& list) {
    out_ += "list[" + list.element->to_string() + "](";
    items(list.items);
    out_ += ')';
  }

  void tuple(const TupleValue& tuple) {
    out_ += tuple.named != nullptr ? "tuple[" + tuple.named->to_string() + "](" : "tuple(";
    items(tuple.items);
    out_ += ')';
  }

  void dict(const DictValue& dict) {
    out_ += "dict[" + dict.key->to_string() + ", " + dict.value->to_string() + "](";
    bool first = true;
    for (const auto& [key, value] : dict.entries()) {
      if (!first) out_ += ", ";
      first = false;
      constant(key);
      out_ += ": ";
      constant(value);
    }
    out_ += ')';
  }

  // Whether a tensor is written out: small, plain, of a real dtype that tierup computes with.
  static bool has_text(const Tensor& tensor) {
    const ScalarType type = tensor.dtype();
    const bool is_listed =
        type <= ScalarType::kDouble || type == ScalarType::kBool || type == ScalarType::kBFloat16;
    return is_listed && tensor.numel() <= kMaxInlineElements && tensor.device() == Device{} &&
           tensor.is_contiguous() && !tensor.requires_grad();
  }

  // "tensor(Float, [2, 2], [1., 2., 3., 4.])".
  void tensor(const IValue& value) {
    const Tensor tensor = value.to_tensor();
    if (!has_text(tensor)) {
      from_table(value);
      return;
    }
    fmt::format_to(std::back_inserter(out_), "tensor({}, [{}], [", scalar_type_name(tensor.dtype()),
                   fmt::join(tensor.sizes(), ", "));
    dispatch_real(tensor.dtype(), "print", [&]<typename T>(TypeTag<T>) {
      for (int64_t i = 0; i < tensor.numel(); ++i) {
        if (i > 0) out_ += ", ";
        const T item = tensor.data<T>()[i];
        if constexpr (std::is_integral_v<T>) {
          out_ += std::to_string(static_cast<int64_t>(item));
        } else if constexpr (std::is_same_v<T, double>) {
          out_ += float_text(item);
        } else {
          out_ += float_text(static_cast<double>(static_cast<float>(item)));
        }
      }
    });
    out_ += "])";
  }

  void from_table(const IValue& value) {
    out_ += '<';
    out_ += value.tag_name();
    if (options_.constants != nullptr) {
      out_ += " $" + std::to_string(options_.constants->size());
      options_.constants->push_back(value);
    } else if (value.is_tensor()) {
      const Tensor tensor = value.to_tensor();
      out_ +=
          fmt::format(" {} {}", scalar_type_name(tensor.dtype()), fmt::join(tensor.sizes(), "x"));
    } else if (value.is_object()) {
      out_ += " " + value.to_object().type->name();
    } else if (value.is_function()) {
      out_ += " " + value.to_function().name();
    } else if (value.is_enum()) {
      out_ += " " + value.to_enum().name;
    }
    out_ += '>';
  }

  const TextOptions& options_;
  std::string out_;
  std::unordered_map<std::string, int> names_;
};

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  TIERUP_CHECK(error == std::errc());
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += '.';
  return text;
}

std::string quote_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

std::string print_graph(const Graph& graph, const TextOptions& options) {
  Printer printer(options);
  printer.graph(graph, 0);
  return printer.take() + "\n";
}

std::string print_constant(const IValue& value) {
  const TextOptions options;
  Printer printer(options);
  printer.constant(value);
  return printer.take();
}

std::string print_node(const Node& node, const TextOptions& options) {
  Printer printer(options);
  const Block* root = node.owner();
  while (root != nullptr && root->parent() != nullptr) root = root->parent()->owner();
  if (root != nullptr) printer.count_names(*root);
  printer.node(node, 0);
  return printer.take();
}

}  // namespace tierup::ir
