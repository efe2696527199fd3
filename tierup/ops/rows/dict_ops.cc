// Dicts: references that keep insertion order. One kernel serves all key types.
#include "tierup/base/error.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

DictValue& dict_of(OpCall& call) { return call.args[0].to_dict(); }

const IValue& checked_find(const DictValue& dict, const IValue& key) {
  const IValue* found = dict.find(key);
  if (found == nullptr) {
    fail(ErrorCode::kOutOfRange, "KeyError: {}", to_text(key));
  }
  return *found;
}

void get_item(OpCall& call) {
  IValue value = checked_find(dict_of(call), call.args[1]);
  call.results[0] = std::move(value);
}

void contains(OpCall& call) {
  call.results[0] = IValue(dict_of(call).find(call.args[1]) != nullptr);
}

void get_or_none(OpCall& call) {
  const IValue* found = dict_of(call).find(call.args[1]);
  IValue value = found != nullptr ? *found : IValue();
  call.results[0] = std::move(value);
}

void get_or_default(OpCall& call) {
  const IValue* found = dict_of(call).find(call.args[1]);
  IValue value = found != nullptr ? *found : std::move(call.args[2]);
  call.results[0] = std::move(value);
}

void set_default(OpCall& call) {
  DictValue& dict = dict_of(call);
  if (dict.find(call.args[1]) == nullptr) dict.set(call.args[1], call.args[2]);
  get_item(call);
}

void pop(OpCall& call) {
  IValue value = checked_find(dict_of(call), call.args[1]);
  dict_of(call).erase(call.args[1]);
  call.results[0] = std::move(value);
}

void pop_or_default(OpCall& call) {
  get_or_default(call);
  dict_of(call).erase(call.args[1]);
}

// The first entry, where Python gives the last.
void pop_item(OpCall& call) {
  DictValue& dict = dict_of(call);
  require(dict.size() > 0, ErrorCode::kOutOfRange, "popitem(): dictionary is empty");
  auto [key, value] = dict.entries().front();
  dict.erase(key);
  call.results[0] = make_tuple({std::move(key), std::move(value)});
}

void update(OpCall& call) {
  DictValue& dict = dict_of(call);
  for (auto& [key, value] : call.args[1].to_dict().entries()) {
    dict.set(std::move(key), std::move(value));
  }
}

void keys(OpCall& call) {
  const DictValue& dict = dict_of(call);
  auto list = make_ref<ListValue>(dict.key);
  list->items.reserve(dict.size());
  for (auto& [key, value] : dict.entries()) list->items.push_back(std::move(key));
  call.results[0] = IValue(std::move(list));
}

void values(OpCall& call) {
  const DictValue& dict = dict_of(call);
  auto list = make_ref<ListValue>(dict.value);
  list->items.reserve(dict.size());
  for (auto& [key, value] : dict.entries()) list->items.push_back(std::move(value));
  call.results[0] = IValue(std::move(list));
}

void items(OpCall& call) {
  const DictValue& dict = dict_of(call);
  auto list = make_ref<ListValue>(Type::tuple({dict.key, dict.value}));
  list->items.reserve(dict.size());
  for (auto& [key, value] : dict.entries()) {
    list->items.push_back(make_tuple({std::move(key), std::move(value)}));
  }
  call.results[0] = IValue(std::move(list));
}

void clear(OpCall& call) { dict_of(call).clear(); }

void copy(OpCall& call) {
  const DictValue& dict = dict_of(call);
  auto result = make_ref<DictValue>(dict.key, dict.value);
  for (auto& [key, value] : dict.entries()) result->set(std::move(key), std::move(value));
  call.results[0] = IValue(std::move(result));
}

void length(OpCall& call) { call.results[0] = IValue(static_cast<int64_t>(dict_of(call).size())); }

void delete_item(OpCall& call) {
  checked_find(dict_of(call), call.args[1]);
  dict_of(call).erase(call.args[1]);
}

void set_item(OpCall& call) { dict_of(call).set(call.args[1], std::move(call.args[2])); }

void empty_dict(OpCall& call) {
  call.results[0] = IValue(make_ref<DictValue>(Type::str(), Type::tensor()));
}

void dict_of_pairs(OpCall& call) {
  const ListValue& pairs = call.args[0].to_list();
  const bool typed = pairs.element->is(TypeKind::kTuple) && pairs.element->elements().size() == 2;
  auto result = typed ? make_ref<DictValue>(pairs.element->element(0), pairs.element->element(1))
                      : make_ref<DictValue>(Type::str(), Type::any());
  for (const IValue& pair : pairs.items) {
    const auto& parts = pair.to_tuple().items;
    require(parts.size() == 2, ErrorCode::kTypeError, "dict() expects pairs, not tuples of {}",
            parts.size());
    result->set(parts[0], parts[1]);
  }
  call.results[0] = IValue(std::move(result));
}

constexpr OpRow kRows[] = {
    {"aten::__getitem__.Dict_str(Dict(str, t) self, str key) -> t(*)", &get_item, ir::kMayRaise},
    {"aten::__getitem__.Dict_int(Dict(int, t) self, int key) -> t(*)", &get_item, ir::kMayRaise},
    {"aten::__getitem__.Dict_bool(Dict(bool, t) self, bool key) -> t(*)", &get_item, ir::kMayRaise},
    {"aten::__getitem__.Dict_float(Dict(float, t) self, float key) -> t(*)", &get_item,
     ir::kMayRaise},
    {"aten::__getitem__.Dict_complex(Dict(complex, t) self, complex key) -> t(*)", &get_item,
     ir::kMayRaise},
    {"aten::__getitem__.Dict_Tensor(Dict(Tensor, t) self, Tensor key) -> t(*)", &get_item,
     ir::kMayRaise},
    {"aten::__contains__.str(Dict(str, t) dict, str key) -> bool", &contains},
    {"aten::__contains__.int(Dict(int, t) dict, int key) -> bool", &contains},
    {"aten::__contains__.bool(Dict(bool, t) dict, bool key) -> bool", &contains},
    {"aten::__contains__.float(Dict(float, t) dict, float key) -> bool", &contains},
    {"aten::__contains__.complex(Dict(complex, t) dict, complex key) -> bool", &contains},
    {"aten::__contains__.Tensor(Dict(Tensor, t) dict, Tensor key) -> bool", &contains},
    {"aten::get.str(Dict(str, t) self, str key) -> t(*)?", &get_or_none},
    {"aten::get.default_str(Dict(str, t) self, str key, t default_value) -> t(*)", &get_or_default},
    {"aten::get.int(Dict(int, t) self, int key) -> t(*)?", &get_or_none},
    {"aten::get.default_int(Dict(int, t) self, int key, t default_value) -> t(*)", &get_or_default},
    {"aten::get.bool(Dict(bool, t) self, bool key) -> t(*)?", &get_or_none},
    {"aten::get.default_bool(Dict(bool, t) self, bool key, t default_value) -> t(*)",
     &get_or_default},
    {"aten::get.float(Dict(float, t) self, float key) -> t(*)?", &get_or_none},
    {"aten::get.default_float(Dict(float, t) self, float key, t default_value) -> t(*)",
     &get_or_default},
    {"aten::get.complex(Dict(complex, t) self, complex key) -> t(*)?", &get_or_none},
    {"aten::get.default_complex(Dict(complex, t) self, complex key, t default_value) -> t(*)",
     &get_or_default},
    {"aten::get.Tensor(Dict(Tensor, t) self, Tensor key) -> t(*)?", &get_or_none},
    {"aten::get.default_Tensor(Dict(Tensor, t) self, Tensor key, t default_value) -> t(*)",
     &get_or_default},
    {"aten::setdefault.str(Dict(str, t)(a!) self, str(b -> *) key, t(c -> *) default_value) -> "
     "t(*)",
     &set_default},
    {"aten::setdefault.int(Dict(int, t)(a!) self, int(b -> *) key, t(c -> *) default_value) -> "
     "t(*)",
     &set_default},
    {"aten::setdefault.bool(Dict(bool, t)(a!) self, bool(b -> *) key, t(c -> *) default_value) -> "
     "t(*)",
     &set_default},
    {"aten::setdefault.float(Dict(float, t)(a!) self, float(b -> *) key, t(c -> *) default_value) "
     "-> t(*)",
     &set_default},
    {"aten::setdefault.complex(Dict(complex, t)(a!) self, complex(b -> *) key, t(c -> *) "
     "default_value) -> t(*)",
     &set_default},
    {"aten::setdefault.Tensor(Dict(Tensor, t)(a!) self, Tensor(b -> *) key, t(c -> *) "
     "default_value) -> t(*)",
     &set_default},
    {"aten::pop.Dict_str(Dict(str, t)(a!) self, str key) -> t(*)", &pop, ir::kMayRaise},
    {"aten::pop.Dict_default_str(Dict(str, t)(a!) self, str key, t default_value) -> t(*)",
     &pop_or_default},
    {"aten::pop.Dict_int(Dict(int, t)(a!) self, int key) -> t(*)", &pop, ir::kMayRaise},
    {"aten::pop.Dict_default_int(Dict(int, t)(a!) self, int key, t default_value) -> t(*)",
     &pop_or_default},
    {"aten::pop.Dict_bool(Dict(bool, t)(a!) self, bool key) -> t(*)", &pop, ir::kMayRaise},
    {"aten::pop.Dict_default_bool(Dict(bool, t)(a!) self, bool key, t default_value) -> t(*)",
     &pop_or_default},
    {"aten::pop.Dict_float(Dict(float, t)(a!) self, float key) -> t(*)", &pop, ir::kMayRaise},
    {"aten::pop.Dict_default_float(Dict(float, t)(a!) self, float key, t default_value) -> t(*)",
     &pop_or_default},
    {"aten::pop.Dict_complex(Dict(complex, t)(a!) self, complex key) -> t(*)", &pop, ir::kMayRaise},
    {"aten::pop.Dict_default_complex(Dict(complex, t)(a!) self, complex key, t default_value) -> "
     "t(*)",
     &pop_or_default},
    {"aten::pop.Dict_Tensor(Dict(Tensor, t)(a!) self, Tensor key) -> t(*)", &pop, ir::kMayRaise},
    {"aten::pop.Dict_default_Tensor(Dict(Tensor, t)(a!) self, Tensor key, t default_value) -> t(*)",
     &pop_or_default},
    {"aten::popitem.str(Dict(str, t)(a!) self) -> ((str, t))", &pop_item, ir::kMayRaise},
    {"aten::popitem.int(Dict(int, t)(a!) self) -> ((int, t))", &pop_item, ir::kMayRaise},
    {"aten::popitem.bool(Dict(bool, t)(a!) self) -> ((bool, t))", &pop_item, ir::kMayRaise},
    {"aten::popitem.float(Dict(float, t)(a!) self) -> ((float, t))", &pop_item, ir::kMayRaise},
    {"aten::popitem.complex(Dict(complex, t)(a!) self) -> ((complex, t))", &pop_item,
     ir::kMayRaise},
    {"aten::popitem.Tensor(Dict(Tensor, t)(a!) self) -> ((Tensor, t))", &pop_item, ir::kMayRaise},
    {"aten::update.str(Dict(str, t)(a!) self, Dict(str, t)(a!) to_add) -> ()", &update},
    {"aten::update.int(Dict(int, t)(a!) self, Dict(int, t)(a!) to_add) -> ()", &update},
    {"aten::update.bool(Dict(bool, t)(a!) self, Dict(bool, t)(a!) to_add) -> ()", &update},
    {"aten::update.float(Dict(float, t)(a!) self, Dict(float, t)(a!) to_add) -> ()", &update},
    {"aten::update.complex(Dict(complex, t)(a!) self, Dict(complex, t)(a!) to_add) -> ()", &update},
    {"aten::update.Tensor(Dict(Tensor, t)(a!) self, Dict(Tensor, t)(a!) to_add) -> ()", &update},
    {"aten::keys.str(Dict(str, t) self) -> str[](*)", &keys},
    {"aten::keys.int(Dict(int, t) self) -> int[](*)", &keys},
    {"aten::keys.bool(Dict(bool, t) self) -> bool[](*)", &keys},
    {"aten::keys.float(Dict(float, t) self) -> float[](*)", &keys},
    {"aten::keys.complex(Dict(complex, t) self) -> complex[](*)", &keys},
    {"aten::keys.Tensor(Dict(Tensor, t) self) -> Tensor[](*)", &keys},
    {"aten::values.str(Dict(str, t) self) -> t[](*)", &values},
    {"aten::values.int(Dict(int, t) self) -> t[](*)", &values},
    {"aten::values.bool(Dict(bool, t) self) -> t[](*)", &values},
    {"aten::values.float(Dict(float, t) self) -> t[](*)", &values},
    {"aten::values.complex(Dict(complex, t) self) -> t[](*)", &values},
    {"aten::values.Tensor(Dict(Tensor, t) self) -> t[](*)", &values},
    {"aten::items.str(Dict(str, t) self) -> ((str, t)[])", &items},
    {"aten::items.int(Dict(int, t) self) -> ((int, t)[])", &items},
    {"aten::items.bool(Dict(bool, t) self) -> ((bool, t)[])", &items},
    {"aten::items.float(Dict(float, t) self) -> ((float, t)[])", &items},
    {"aten::items.complex(Dict(complex, t) self) -> ((complex, t)[])", &items},
    {"aten::items.Tensor(Dict(Tensor, t) self) -> ((Tensor, t)[])", &items},
    {"aten::clear.str(Dict(str, t)(a!) self) -> ()", &clear},
    {"aten::clear.int(Dict(int, t)(a!) self) -> ()", &clear},
    {"aten::clear.bool(Dict(bool, t)(a!) self) -> ()", &clear},
    {"aten::clear.float(Dict(float, t)(a!) self) -> ()", &clear},
    {"aten::clear.complex(Dict(complex, t)(a!) self) -> ()", &clear},
    {"aten::clear.Tensor(Dict(Tensor, t)(a!) self) -> ()", &clear},
    {"aten::copy.Dict_str(Dict(str, t)(a) self) -> Dict(str, t)", &copy},
    {"aten::copy.Dict_int(Dict(int, t)(a) self) -> Dict(int, t)", &copy},
    {"aten::copy.Dict_bool(Dict(bool, t)(a) self) -> Dict(bool, t)", &copy},
    {"aten::copy.Dict_float(Dict(float, t)(a) self) -> Dict(float, t)", &copy},
    {"aten::copy.Dict_complex(Dict(complex, t)(a) self) -> Dict(complex, t)", &copy},
    {"aten::copy.Dict_Tensor(Dict(Tensor, t)(a) self) -> Dict(Tensor, t)", &copy},
    {"aten::len.Dict_str(Dict(str, t) self) -> int", &length},
    {"aten::len.Dict_int(Dict(int, t) self) -> int", &length},
    {"aten::len.Dict_bool(Dict(bool, t) self) -> int", &length},
    {"aten::len.Dict_float(Dict(float, t) self) -> int", &length},
    {"aten::len.Dict_complex(Dict(complex, t) self) -> int", &length},
    {"aten::len.Dict_Tensor(Dict(Tensor, t) self) -> int", &length},
    {"aten::Delete.Dict_str(Dict(str, t)(a!) self, str key) -> ()", &delete_item, ir::kMayRaise},
    {"aten::Delete.Dict_int(Dict(int, t)(a!) self, int key) -> ()", &delete_item, ir::kMayRaise},
    {"aten::Delete.Dict_bool(Dict(bool, t)(a!) self, bool key) -> ()", &delete_item, ir::kMayRaise},
    {"aten::Delete.Dict_float(Dict(float, t)(a!) self, float key) -> ()", &delete_item,
     ir::kMayRaise},
    {"aten::Delete.Dict_complex(Dict(complex, t)(a!) self, complex key) -> ()", &delete_item,
     ir::kMayRaise},
    {"aten::Delete.Dict_Tensor(Dict(Tensor, t)(a!) self, Tensor key) -> ()", &delete_item,
     ir::kMayRaise},
    {"aten::_set_item.str(Dict(str, t)(a!) l, str(b -> *) idx, t(c -> *) v) -> ()", &set_item},
    {"aten::_set_item.int(Dict(int, t)(a!) l, int(b -> *) idx, t(c -> *) v) -> ()", &set_item},
    {"aten::_set_item.bool(Dict(bool, t)(a!) l, bool(b -> *) idx, t(c -> *) v) -> ()", &set_item},
    {"aten::_set_item.float(Dict(float, t)(a!) l, float(b -> *) idx, t(c -> *) v) -> ()",
     &set_item},
    {"aten::_set_item.complex(Dict(complex, t)(a!) l, complex(b -> *) idx, t(c -> *) v) -> ()",
     &set_item},
    {"aten::_set_item.Tensor(Dict(Tensor, t)(a!) l, Tensor(b -> *) idx, t(c -> *) v) -> ()",
     &set_item},
    {"aten::dict() -> Dict(str, Tensor)", &empty_dict},
    {"aten::dict.str((str, tVal)[] inputs) -> Dict(str, tVal)", &dict_of_pairs},
    {"aten::dict.Dict_str(Dict(str, t)(a) self) -> Dict(str, t)", &copy},
    {"aten::dict.int((int, tVal)[] inputs) -> Dict(int, tVal)", &dict_of_pairs},
    {"aten::dict.Dict_int(Dict(int, t)(a) self) -> Dict(int, t)", &copy},
    {"aten::dict.bool((bool, tVal)[] inputs) -> Dict(bool, tVal)", &dict_of_pairs},
    {"aten::dict.Dict_bool(Dict(bool, t)(a) self) -> Dict(bool, t)", &copy},
    {"aten::dict.float((float, tVal)[] inputs) -> Dict(float, tVal)", &dict_of_pairs},
    {"aten::dict.Dict_float(Dict(float, t)(a) self) -> Dict(float, t)", &copy},
    {"aten::dict.complex((complex, tVal)[] inputs) -> Dict(complex, tVal)", &dict_of_pairs},
    {"aten::dict.Dict_complex(Dict(complex, t)(a) self) -> Dict(complex, t)", &copy},
    {"aten::dict.Tensor((Tensor, tVal)[] inputs) -> Dict(Tensor, tVal)", &dict_of_pairs},
    {"aten::dict.Dict_Tensor(Dict(Tensor, t)(a) self) -> Dict(Tensor, t)", &copy},
};

}  // namespace

std::span<const OpRow> dict_ops_rows() { return kRows; }

}  // namespace tierup::ops
