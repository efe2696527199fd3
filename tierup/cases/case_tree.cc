#include "tierup/cases/case_tree.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "tierup/base/error.h"
#include "tierup/cases/tree_reader.h"

namespace tierup::api {
namespace {

using simdjson::dom::element_type;

double special_float(std::string_view text) {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  fail(ErrorCode::kCorruptArchive, "a case names the float '{}', which is none", text);
}

TypePtr inner_type(TypePtr type) {
  while (type != nullptr && type->is(TypeKind::kOptional)) type = type->element();
  return type;
}

TypePtr element_type_of(const TypePtr& type, TypeKind container, size_t index) {
  if (type == nullptr || !type->is(container) || type->elements().size() <= index) return nullptr;
  return type->element(index);
}

// A list holding values of several types has elements of Any.
TypePtr common_type(const std::vector<IValue>& items) {
  TypePtr result;
  for (const IValue& item : items) {
    result = result == nullptr ? item.type() : unify(result, item.type());
    if (result == nullptr) return Type::any();
  }
  return result == nullptr ? Type::tensor() : result;
}

IntVector read_ints(simdjson::dom::element value) {
  IntVector result;
  for (simdjson::dom::element item : value.get_array()) result.push_back(int64_t{item});
  return result;
}

// Real pairs to complex numbers: {..., 2} floats become {...} complex over the same storage.
Tensor complex_view(const Tensor& pairs) {
  if (!(pairs.dim() >= 1 && pairs.sizes().back() == 2 && pairs.is_contiguous())) {
    fail(ErrorCode::kCorruptArchive, "a complex tensor of a case has the shape {}",
         shape_string(pairs.sizes()));
  }
  const IntSpan sizes = pairs.sizes().first(pairs.sizes().size() - 1);
  return Tensor::from_storage(pairs.storage(), complex_type_of(pairs.dtype()), sizes,
                              contiguous_strides(sizes), pairs.offset() / 2);
}

Tensor own_copy(const Tensor& source) {
  TIERUP_CHECK(source.is_contiguous());
  Tensor copy = Tensor::empty(source.sizes(), source.dtype());
  if (source.bytes() > 0) std::memcpy(copy.raw(), source.raw(), source.bytes());
  return copy;
}

int64_t memory_format_code(std::string_view name) {
  if (name == "contiguous_format") return static_cast<int64_t>(MemoryFormat::kContiguous);
  if (name == "preserve_format") return static_cast<int64_t>(MemoryFormat::kPreserve);
  if (name == "channels_last") return static_cast<int64_t>(MemoryFormat::kChannelsLast);
  if (name == "channels_last_3d") return static_cast<int64_t>(MemoryFormat::kChannelsLast3d);
  fail(ErrorCode::kCorruptArchive, "a case names the memory format '{}', which is none", name);
}

IValue number_for(IValue number, const TypePtr& type) {
  if (type == nullptr || !number.is_int()) return number;
  if (type->is(TypeKind::kFloat)) return static_cast<double>(number.to_int());
  return number;
}

}  // namespace

void fail_json(std::string_view what, const simdjson::simdjson_error& error) {
  fail(ErrorCode::kCorruptArchive, "{} is not the JSON it should be: {}", what, error.what());
}

const Tensor& CaseTensors::stored(const std::string& name) {
  const auto found = stored_.find(name);
  if (found != stored_.end()) return found->second;
  return stored_.emplace(name, own_copy(load_(name))).first->second;
}

Tensor CaseTensors::leaf(const std::string& name) const {
  const auto found = leaves_.find(name);
  return found == leaves_.end() ? Tensor() : found->second;
}

IValue TreeReader::read(simdjson::dom::element tree, const TypePtr& wanted) const {
  const TypePtr type = inner_type(wanted);
  switch (tree.type()) {
    case element_type::NULL_VALUE: return {};
    case element_type::BOOL: return bool{tree};
    case element_type::INT64: return number_for(int64_t{tree}, type);
    case element_type::UINT64: return static_cast<int64_t>(uint64_t{tree});
    case element_type::DOUBLE: return double{tree};
    case element_type::STRING: return IValue(std::string_view{tree});
    case element_type::ARRAY: return read_list(tree, type);
    case element_type::OBJECT: return read_object(tree, type);
  }
  return {};
}

IValue TreeReader::read_list(simdjson::dom::array array, const TypePtr& type) const {
  if (type != nullptr && type->is(TypeKind::kTuple)) return read_tuple(array, type);
  const TypePtr element = element_type_of(type, TypeKind::kList, 0);
  std::vector<IValue> items;
  for (simdjson::dom::element item : array) items.push_back(read(item, element));
  TypePtr element_type = element != nullptr ? element : common_type(items);
  return make_ref<ListValue>(std::move(element_type), std::move(items));
}

IValue TreeReader::read_tuple(simdjson::dom::array array, const TypePtr& type) const {
  std::vector<IValue> items;
  for (simdjson::dom::element item : array) {
    items.push_back(read(item, element_type_of(type, TypeKind::kTuple, items.size())));
  }
  if (type != nullptr && !type->fields().empty()) {
    return make_ref<TupleValue>(std::move(items), type);
  }
  return make_tuple(std::move(items));
}

IValue TreeReader::read_dict(simdjson::dom::array array, const TypePtr& type) const {
  const TypePtr key_type = element_type_of(type, TypeKind::kDict, 0);
  const TypePtr value_type = element_type_of(type, TypeKind::kDict, 1);
  std::vector<IValue> keys;
  std::vector<IValue> values;
  for (simdjson::dom::element pair : array) {
    keys.push_back(read(pair.at(0), key_type));
    values.push_back(read(pair.at(1), value_type));
  }
  auto dict = make_ref<DictValue>(key_type != nullptr ? key_type : common_type(keys),
                                  value_type != nullptr ? value_type : common_type(values));
  for (size_t i = 0; i < keys.size(); ++i) dict->set(keys[i], values[i]);
  return dict;
}

IValue TreeReader::read_tensor(simdjson::dom::object object) const {
  const std::string name(std::string_view{object["t"]});
  Tensor tensor = tensors_.stored(name);
  std::string_view dtype;
  if (object["dtype"].get(dtype) == simdjson::SUCCESS) tensor = complex_view(tensor);
  simdjson::dom::element size;
  if (object["size"].get(size) == simdjson::SUCCESS) {
    int64_t offset = 0;
    if (object["offset"].get(offset) != simdjson::SUCCESS) offset = 0;
    tensor = Tensor::from_storage(tensor.storage(), tensor.dtype(), read_ints(size),
                                  read_ints(object["stride"]), tensor.offset() + offset);
  }
  // The same leaf is the same tensor, not only the same memory.
  Tensor& known = tensors_.leaves_[name];
  const bool is_known = known.defined() && std::ranges::equal(known.sizes(), tensor.sizes()) &&
                        std::ranges::equal(known.strides(), tensor.strides());
  if (!is_known) known = tensor;
  return known;
}

IValue TreeReader::read_object(simdjson::dom::object object, const TypePtr& type) const {
  simdjson::dom::element value;
  const auto has = [&](const char* key) { return object[key].get(value) == simdjson::SUCCESS; };
  if (has("t")) return read_tensor(object);
  if (has("tuple")) return read_tuple(value, type);
  if (has("dict")) return read_dict(value, type);
  if (has("float")) return special_float(value);
  if (has("complex")) return complex128(double{value.at(0)}, double{value.at(1)});
  if (has("dtype")) {
    const auto dtype = parse_dtype(value);
    require(dtype.has_value(), ErrorCode::kCorruptArchive, "a case names the dtype '{}'",
            std::string_view{value});
    return static_cast<int64_t>(*dtype);
  }
  if (has("device")) return Device::parse(value);
  if (has("layout")) return static_cast<int64_t>(Layout::kStrided);
  if (has("memory_format")) return memory_format_code(value);
  fail(ErrorCode::kCorruptArchive, "a case has a tree of an unknown kind: {}",
       simdjson::minify(object));
}

IValue value_from_tree(std::string_view json, CaseTensors& tensors, const TypePtr& type) {
  try {
    simdjson::dom::parser parser;
    return TreeReader(tensors).read(parser.parse(simdjson::padded_string(json)), type);
  } catch (const simdjson::simdjson_error& error) {
    fail_json("a tree of a case", error);
  }
}

}  // namespace tierup::api
