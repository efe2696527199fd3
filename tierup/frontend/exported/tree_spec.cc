#include "tierup/frontend/exported/tree_spec.h"

#include <simdjson.h>

#include <algorithm>

#include "tierup/base/error.h"
#include "tierup/frontend/exported/json_cursor.h"

namespace tierup::frontend::exported {
namespace {

constexpr int kMaxDepth = 200;

IValue key_from_json(const JsonCursor& json) {
  if (json.is_null()) return {};
  if (json.is_string()) return json.as_string();
  if (json.is_bool()) return json.as_bool();
  if (json.is_array()) {  // A tuple key.
    std::vector<IValue> items;
    json.each([&](const JsonCursor& item) { items.push_back(key_from_json(item)); });
    return make_tuple(std::move(items));
  }
  if (json.is_object()) json.fail("a dictionary key of this kind is not supported");
  const double number = json.as_double();
  if (number == static_cast<double>(static_cast<int64_t>(number))) return json.as_int();
  return number;
}

void add_keys(const JsonCursor& json, std::vector<IValue>& keys) {
  json.each([&](const JsonCursor& key) { keys.push_back(key_from_json(key)); });
}

// The context is JSON inside of a string; parsed with a parser of its own.
template <typename Body>
void with_inner_json(const JsonCursor& context, Body&& body) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  const std::string text(context.as_string());
  if (parser.parse(text).get(element) != simdjson::SUCCESS) context.fail("not JSON: " + text);
  body(JsonCursor(element));
}

void read_dict_context(const JsonCursor& context, TreeSpec& spec) {
  spec.kind = TreeSpec::Kind::kDict;
  if (context.is_object()) {  // defaultdict: the keys stand in a field.
    const JsonCursor keys = context.at("dict_context");
    if (keys.is_string()) {
      with_inner_json(keys, [&](const JsonCursor& inner) { add_keys(inner, spec.keys); });
    } else {
      add_keys(keys, spec.keys);
    }
    return;
  }
  with_inner_json(context, [&](const JsonCursor& inner) {
    if (inner.is_object()) {
      add_keys(inner.at("dict_context"), spec.keys);
    } else {
      add_keys(inner, spec.keys);
    }
  });
}

// A dataclass registered for export: [[fields with values], [fields that were None]].
bool read_record_context(const JsonCursor& context, TreeSpec& spec) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  if (!context.is_string()) return false;
  const std::string text(context.as_string());
  if (parser.parse(text).get(element) != simdjson::SUCCESS) return false;
  const JsonCursor inner(element);
  if (!inner.is_array()) return false;
  std::vector<std::vector<std::string>> lists;
  bool ok = true;
  inner.each([&](const JsonCursor& list) {
    if (!list.is_array()) {
      ok = false;
      return;
    }
    auto& names = lists.emplace_back();
    list.each([&](const JsonCursor& name) {
      if (name.is_string()) names.emplace_back(name.as_string());
    });
  });
  if (!ok || lists.size() != 2) return false;
  spec.fields = std::move(lists[0]);
  spec.none_fields = std::move(lists[1]);
  return true;
}

TreeSpec read_spec(const JsonCursor& json, const NamedTupleFields& fields, int depth) {
  if (depth > kMaxDepth) json.fail("containers are nested too deeply");
  TreeSpec spec;
  json.at("children_spec").each([&](const JsonCursor& child) {
    spec.children.push_back(read_spec(child, fields, depth + 1));
  });
  const auto type = json.find("type");
  if (!type) {
    if (!spec.children.empty()) json.fail("a leaf with children");
    return spec;
  }
  spec.type = type->as_string();
  const auto context = json.find("context");
  if (spec.type == "builtins.tuple") {
    spec.kind = TreeSpec::Kind::kTuple;
  } else if (spec.type == "builtins.list" || spec.type == "collections.deque" ||
             spec.type == "torch.fx.immutable_collections.immutable_list") {
    spec.kind = TreeSpec::Kind::kList;
  } else if (spec.type == "builtins.dict" || spec.type == "collections.OrderedDict" ||
             spec.type == "collections.defaultdict" ||
             spec.type == "torch.fx.immutable_collections.immutable_dict") {
    if (!context) json.fail("a dictionary without keys");
    read_dict_context(*context, spec);
    if (spec.keys.size() != spec.children.size()) {
      json.fail(fmt::format("a dictionary with {} keys and {} values", spec.keys.size(),
                            spec.children.size()));
    }
  } else if (spec.type == "collections.namedtuple") {
    spec.kind = TreeSpec::Kind::kNamedTuple;
    if (context && context->is_string()) spec.type = context->as_string();
    if (const auto known = fields.find(spec.type); known != fields.end()) {
      spec.fields = known->second;
    }
  } else {
    spec.kind = TreeSpec::Kind::kRecord;
    if (context) read_record_context(*context, spec);
  }
  if (!spec.fields.empty() && spec.fields.size() != spec.children.size()) {
    json.fail(fmt::format("{} has {} fields and {} values", spec.type, spec.fields.size(),
                          spec.children.size()));
  }
  return spec;
}

std::string key_text(const IValue& key) {
  return key.is_str() ? "'" + key.to_str() + "'" : to_text(key);
}

std::string describe(const IValue& value) {
  if (value.is_list()) return fmt::format("list of {}", value.to_list().items.size());
  if (value.is_tuple()) return fmt::format("tuple of {}", value.to_tuple().items.size());
  if (value.is_dict()) {
    std::string text = "dict with keys [";
    for (const auto& [key, item] : value.to_dict().entries()) {
      if (text.back() != '[') text += ", ";
      text += key_text(key);
    }
    return text + "]";
  }
  return std::string(value.tag_name());
}

std::string expectation(const TreeSpec& spec) {
  switch (spec.kind) {
    case TreeSpec::Kind::kDict: {
      std::string text = "a dict with keys [";
      for (size_t i = 0; i < spec.keys.size(); ++i)
        text += (i > 0 ? ", " : "") + key_text(spec.keys[i]);
      return text + "]";
    }
    case TreeSpec::Kind::kList: return fmt::format("a list of {}", spec.children.size());
    case TreeSpec::Kind::kTuple: return fmt::format("a tuple of {}", spec.children.size());
    case TreeSpec::Kind::kNamedTuple:
    case TreeSpec::Kind::kRecord:
      return fmt::format("{} of {} values", spec.type, spec.children.size());
    case TreeSpec::Kind::kLeaf: break;
  }
  return "a value";
}

[[noreturn]] void fail_container(const TreeSpec& spec, const IValue& value,
                                 const std::string& path) {
  fail(ErrorCode::kTypeError, "argument {}: expected {}, got {}", path, expectation(spec),
       describe(value));
}

const std::vector<IValue>* items_of(const IValue& value) {
  if (value.is_list()) return &value.to_list().items;
  if (value.is_tuple()) return &value.to_tuple().items;
  return nullptr;
}

void flatten_dict(const TreeSpec& spec, const IValue& value, const std::string& path,
                  const LeafSink& sink) {
  if (!value.is_dict()) fail_container(spec, value, path);
  const DictValue& dict = value.to_dict();
  for (const auto& [key, item] : dict.entries()) {
    const bool known =
        std::any_of(spec.keys.begin(), spec.keys.end(),
                    [&, k = key](const IValue& other) { return values_equal(k, other); });
    if (!known) fail_container(spec, value, path);
  }
  for (size_t i = 0; i < spec.children.size(); ++i) {
    const IValue* item = nullptr;
    for (const auto& [key, entry] : dict.entries()) {
      if (values_equal(key, spec.keys[i])) item = dict.find(key);
    }
    flatten(spec.children[i], item != nullptr ? std::optional<IValue>(*item) : std::nullopt,
            path + "[" + key_text(spec.keys[i]) + "]", sink);
  }
}

}  // namespace

size_t TreeSpec::leaf_count() const {
  if (kind == Kind::kLeaf) return 1;
  size_t count = 0;
  for (const TreeSpec& child : children) count += child.leaf_count();
  return count;
}

TreeSpec parse_tree_spec(std::string_view json, const NamedTupleFields& fields) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  require(parser.parse(json.data(), json.size(), true).get(element) == simdjson::SUCCESS,
          ErrorCode::kCorruptArchive, "the tree specification is not JSON");
  const JsonCursor root(element);
  size_t index = 0;
  std::optional<TreeSpec> spec;
  root.each([&](const JsonCursor& part) {
    if (index == 0 && part.as_int() != 1) {
      fail(ErrorCode::kUnsupported,
           "tree specification protocol {} is not supported (this build reads 1)", part.as_int());
    }
    if (index == 1) spec = read_spec(part, fields, 0);
    ++index;
  });
  require(spec.has_value(), ErrorCode::kCorruptArchive, "the tree specification is incomplete");
  return *std::move(spec);
}

void flatten(const TreeSpec& spec, const std::optional<IValue>& value, const std::string& path,
             const LeafSink& sink) {
  if (spec.kind == TreeSpec::Kind::kLeaf) {
    sink(path, value);
    return;
  }
  if (value && spec.kind == TreeSpec::Kind::kDict) {
    flatten_dict(spec, *value, path, sink);
    return;
  }
  const bool by_field = value && value->is_dict() && !spec.fields.empty();
  const std::vector<IValue>* items = value ? items_of(*value) : nullptr;
  if (value && !by_field && (items == nullptr || items->size() != spec.children.size())) {
    fail_container(spec, *value, path);
  }
  for (size_t i = 0; i < spec.children.size(); ++i) {
    std::optional<IValue> item;
    if (by_field) {
      if (const IValue* found = value->to_dict().find(IValue(spec.fields[i]))) item = *found;
    } else if (items != nullptr) {
      item = (*items)[i];
    }
    const std::string step = !spec.fields.empty() ? "." + spec.fields[i] : fmt::format("[{}]", i);
    flatten(spec.children[i], item, path + step, sink);
  }
}

void flatten_call(const TreeSpec& in_spec, const std::vector<std::string>& names,
                  const std::vector<IValue>& args,
                  const std::vector<std::pair<std::string, IValue>>& kwargs, const LeafSink& sink) {
  require(in_spec.children.size() == 2 && in_spec.children[1].kind == TreeSpec::Kind::kDict,
          ErrorCode::kCorruptArchive, "the calling convention is not (args, kwargs)");
  const TreeSpec& positional = in_spec.children[0];
  const TreeSpec& keyword = in_spec.children[1];
  const size_t total = positional.children.size() + keyword.children.size();
  const auto name_of = [&](size_t i) -> std::string {
    if (i >= positional.children.size())
      return to_text(keyword.keys[i - positional.children.size()]);
    return i < names.size() ? names[i] : "args_" + std::to_string(i);
  };
  require(args.size() <= total, ErrorCode::kInvalidArgument, "{} takes {} arguments, got {}",
          call_signature(in_spec, names), total, args.size());
  std::vector<std::optional<IValue>> bound(total);
  for (size_t i = 0; i < args.size(); ++i) bound[i] = args[i];
  for (const auto& [name, value] : kwargs) {
    size_t slot = 0;
    while (slot < total && name_of(slot) != name) ++slot;
    require(slot < total, ErrorCode::kInvalidArgument,
            "unknown argument '{}'; the exported signature is {}", name,
            call_signature(in_spec, names));
    require(!bound[slot], ErrorCode::kInvalidArgument, "argument '{}' was given twice", name);
    bound[slot] = value;
  }
  for (size_t i = 0; i < total; ++i) {
    const bool is_positional = i < positional.children.size();
    const TreeSpec& child =
        is_positional ? positional.children[i] : keyword.children[i - positional.children.size()];
    flatten(child, bound[i], name_of(i), sink);
  }
}

IValue unflatten(const TreeSpec& spec, const std::vector<IValue>& leaves, size_t& next) {
  if (spec.kind == TreeSpec::Kind::kLeaf) {
    TIERUP_CHECK(next < leaves.size());
    return leaves[next++];
  }
  std::vector<IValue> items;
  for (const TreeSpec& child : spec.children) items.push_back(unflatten(child, leaves, next));
  if (spec.kind == TreeSpec::Kind::kTuple) return make_tuple(std::move(items));
  if (spec.kind == TreeSpec::Kind::kList) {
    const TypePtr element = items.empty() ? Type::tensor() : items[0].type();
    const bool uniform = std::all_of(items.begin(), items.end(), [&](const IValue& item) {
      return equal(item.type(), element);
    });
    return make_ref<ListValue>(uniform ? element : Type::any(), std::move(items));
  }
  if (spec.kind == TreeSpec::Kind::kDict) {
    auto dict =
        make_ref<DictValue>(spec.keys.empty() ? Type::str() : spec.keys[0].type(), Type::any());
    for (size_t i = 0; i < items.size(); ++i) dict->set(spec.keys[i], std::move(items[i]));
    return dict;
  }
  TypePtr named;
  std::vector<std::string> fields = spec.fields;
  for (const std::string& field : spec.none_fields) {
    fields.push_back(field);
    items.emplace_back();
  }
  if (!fields.empty()) {
    std::vector<TypePtr> types;
    for (const IValue& item : items) types.push_back(item.type());
    named = Type::named_tuple(spec.type, std::move(fields), std::move(types));
  }
  return make_ref<TupleValue>(std::move(items), std::move(named));
}

std::string call_signature(const TreeSpec& in_spec, const std::vector<std::string>& names) {
  std::string text = "forward(";
  const size_t positional = in_spec.children.empty() ? 0 : in_spec.children[0].children.size();
  for (size_t i = 0; i < positional; ++i) {
    if (i > 0) text += ", ";
    text += i < names.size() ? names[i] : "args_" + std::to_string(i);
  }
  if (in_spec.children.size() > 1 && !in_spec.children[1].keys.empty()) {
    text += positional > 0 ? ", *" : "*";
    for (const IValue& key : in_spec.children[1].keys) text += ", " + to_text(key);
  }
  return text + ")";
}

}  // namespace tierup::frontend::exported
