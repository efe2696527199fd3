// The steps that neither call nor jump: values are built, taken apart and tested.
#include <cstdio>
#include <memory>

#include "tierup/base/error.h"
#include "tierup/runtime/interpreter.h"
#include "tierup/runtime/to_list.h"

namespace tierup::runtime {
namespace {

// The inputs of one step, to be read once each and in order.
struct Inputs {
  const Operand* operands;
  uint32_t count;
  IValue* slots;

  IValue take(uint32_t i) const { return read_operand(operands[i], slots); }
  const IValue& peek(uint32_t i) const { return slots[operands[i].slot]; }
  std::vector<IValue> take_all() const {
    std::vector<IValue> values;
    values.reserve(count);
    for (uint32_t i = 0; i < count; ++i) values.push_back(take(i));
    return values;
  }
};

void unpack(const std::vector<IValue>& items, const Step& step, IValue* slots) {
  for (uint16_t i = 0; i < step.output_count; ++i) slots[step.output + i] = items[i];
}

void unpack_list(const Step& step, const Inputs& in) {
  const Ref<ListValue> list = in.take(0).list_ref();
  require(list->items.size() == step.output_count, ErrorCode::kInvalidArgument,
          "Expected {} elements in a list but found {}", step.output_count, list->items.size());
  unpack(list->items, step, in.slots);
}

void unpack_tuple(const Step& step, const Inputs& in) {
  const Ref<TupleValue> tuple = in.take(0).tuple_ref();
  require(tuple->items.size() == step.output_count, ErrorCode::kInvalidArgument,
          "Expected {} elements in a tuple but found {}", step.output_count, tuple->items.size());
  if (tuple->use_count() > 1) return unpack(tuple->items, step, in.slots);
  for (uint16_t i = 0; i < step.output_count; ++i) {
    in.slots[step.output + i] = std::move(tuple->items[i]);
  }
}

// Several references to one union member are checked by the type checker, not here: the static
// type says what the container holds.
IValue make_list(const Step& step, const Inputs& in) {
  const TypePtr& type = step.data.detail->type;
  const TypePtr& element = type->is(TypeKind::kList) ? type->element() : Type::any();
  return make_ref<ListValue>(element, in.take_all());
}

IValue make_tuple_value(const Step& step, const Inputs& in) {
  const TypePtr& type = step.data.detail->type;
  const bool is_named = type->is(TypeKind::kTuple) && !type->fields().empty();
  return make_ref<TupleValue>(in.take_all(), is_named ? type : nullptr);
}

IValue make_dict(const Step& step, const Inputs& in) {
  const TypePtr& type = step.data.detail->type;
  const bool is_typed = type->is(TypeKind::kDict);
  auto dict = make_ref<DictValue>(is_typed ? type->element(0) : Type::any(),
                                  is_typed ? type->element(1) : Type::any());
  for (uint32_t i = 0; i + 1 < in.count; i += 2) {
    IValue key = in.take(i);
    dict->set(std::move(key), in.take(i + 1));
  }
  return dict;
}

IValue make_object(const Step& step) {
  const TypePtr& type = step.data.detail->type;
  return make_ref<ObjectValue>(std::static_pointer_cast<const ClassType>(type->shared_from_this()));
}

IValue tuple_item(const Step& step, const Inputs& in) {
  const auto& items = in.peek(0).to_tuple().items;
  auto index = static_cast<int32_t>(step.target);
  if (index < 0) index += static_cast<int32_t>(items.size());
  require(index >= 0 && static_cast<size_t>(index) < items.size(), ErrorCode::kOutOfRange,
          "Tuple list index out of range: {} of {}", index, items.size());
  return items[static_cast<size_t>(index)];
}

IValue tuple_slice(const Step& step, const Inputs& in) {
  const auto& items = in.peek(0).to_tuple().items;
  const size_t end = std::min<size_t>(step.end, items.size());
  const size_t begin = std::min<size_t>(step.target, end);
  return make_tuple(
      {items.begin() + static_cast<ptrdiff_t>(begin), items.begin() + static_cast<ptrdiff_t>(end)});
}

void drop_unread(const Inputs& in) {
  for (uint32_t i = 0; i < in.count; ++i) {
    if (in.operands[i].is_last_use != 0) in.slots[in.operands[i].slot] = IValue();
  }
}

void get_attribute(const Step& step, const Inputs& in) {
  const StepDetail& detail = *step.data.detail;
  const ObjectValue& object = in.peek(0).to_object();
  IValue value =
      object.type.get() == detail.type.get() ? object.slots[step.target] : object.get(detail.text);
  require(!value.is_uninitialized(), ErrorCode::kTypeError,
          "the attribute '{}' of {} was never set", detail.text, object.type->name());
  drop_unread(in);
  in.slots[step.output] = std::move(value);
}

void set_attribute(const Step& step, const Inputs& in) {
  const StepDetail& detail = *step.data.detail;
  const IValue holder = in.take(0);
  ObjectValue& object = holder.to_object();
  if (object.type.get() == detail.type.get()) {
    object.slots[step.target] = in.take(1);
    object.version.fetch_add(1, std::memory_order_release);
  } else {
    object.set(detail.text, in.take(1));
  }
}

[[noreturn]] void raise(const Inputs& in) {
  std::string text = in.count > 0 && in.peek(0).is_str() ? in.peek(0).to_str() : std::string();
  const bool has_class = in.count > 1 && in.peek(1).is_str() && !in.peek(1).to_str().empty();
  Error error(ErrorCode::kModelException, std::move(text));
  error.with_python_type(has_class ? in.peek(1).to_str() : "RuntimeError");
  throw error;
}

bool is_any_instance(const Step& step, const IValue& value) {
  for (const TypePtr& type : step.data.detail->types) {
    if (value.is_instance(type)) return true;
  }
  return false;
}

// The i-th submodule, or the one of this name (ModuleList, ModuleDict).
IValue module_item(const Inputs& in) {
  const ObjectValue& container = in.peek(0).to_object();
  const IValue& key = in.peek(1);
  if (key.is_str()) return container.get(key.to_str());
  std::vector<size_t> modules;
  const auto& attributes = container.type->attributes();
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (container.slots[i].is_object() && container.slots[i].to_object().type->is_module()) {
      modules.push_back(i);
    }
  }
  const auto count = static_cast<int64_t>(modules.size());
  const int64_t index = key.to_int() < 0 ? key.to_int() + count : key.to_int();
  require(index >= 0 && index < count, ErrorCode::kOutOfRange,
          "list index out of range: module {} of {}", key.to_int(), count);
  return container.slots[modules[static_cast<size_t>(index)]];
}

// All inputs are read before any output is written.
void move_values(const Step& step, const Inputs& in, IValue* scratch) {
  if (in.count == 1) {
    in.slots[step.output] = in.take(0);
    return;
  }
  for (uint32_t i = 0; i < in.count; ++i) new (scratch + i) IValue(in.take(i));
  for (uint32_t i = 0; i < in.count; ++i) in.slots[step.output + i] = std::move(scratch[i]);
  std::destroy_n(scratch, in.count);
}

// As move_values, but the slot behind the condition is the trip's number and stays.
void next_trip(const Step& step, const Inputs& in, IValue* scratch) {
  for (uint32_t i = 0; i < in.count; ++i) new (scratch + i) IValue(in.take(i));
  in.slots[step.output] = std::move(scratch[0]);
  for (uint32_t i = 1; i < in.count; ++i) in.slots[step.output + 1 + i] = std::move(scratch[i]);
  std::destroy_n(scratch, in.count);
}

void print(const Inputs& in, const ops::RunContext& context) {
  std::string line;
  for (uint32_t i = 0; i < in.count; ++i) {
    if (i > 0) line += ' ';
    line += to_text(in.peek(i));
  }
  line += '\n';
  drop_unread(in);
  if (context.print) return context.print(line);
  std::fwrite(line.data(), 1, line.size(), stdout);
}

}  // namespace

void Interpreter::run_plain(const Step& step) {
  const Inputs in{operands(step), step.input_count, slots_};
  // For results that leave their inputs where they are.
  const auto keep = [&](IValue value) {
    drop_unread(in);
    slots_[step.output] = std::move(value);
  };
  switch (step.kind) {
    case StepKind::kMove: return move_values(step, in, inputs_);
    case StepKind::kDrop: return drop_unread(in);
    case StepKind::kLoopNext: return next_trip(step, in, inputs_);
    case StepKind::kListConstruct: slots_[step.output] = make_list(step, in); return;
    case StepKind::kListUnpack: return unpack_list(step, in);
    case StepKind::kTupleConstruct: slots_[step.output] = make_tuple_value(step, in); return;
    case StepKind::kTupleUnpack: return unpack_tuple(step, in);
    case StepKind::kTupleIndex: return keep(tuple_item(step, in));
    case StepKind::kTupleSlice: return keep(tuple_slice(step, in));
    case StepKind::kDictConstruct: slots_[step.output] = make_dict(step, in); return;
    case StepKind::kCreateObject: slots_[step.output] = make_object(step); return;
    case StepKind::kGetAttr: return get_attribute(step, in);
    case StepKind::kSetAttr: return set_attribute(step, in);
    case StepKind::kRaise: raise(in);
    case StepKind::kUninitialized: slots_[step.output] = IValue::uninitialized(); return;
    case StepKind::kIsInstance: return keep(is_any_instance(step, in.peek(0)));
    case StepKind::kEnumName: return keep(in.peek(0).to_enum().name);
    case StepKind::kEnumValue: return keep(in.peek(0).to_enum().value);
    case StepKind::kToList:
      return keep(tensor_to_list(in.peek(0).to_tensor(), step.data.detail->type));
    case StepKind::kModuleIndex: return keep(module_item(in));
    case StepKind::kPrint: return print(in, context_);
    case StepKind::kTrap: fail(ErrorCode::kUnsupported, "{}", step.data.detail->text);
    default: TIERUP_CHECK(false);
  }
}

}  // namespace tierup::runtime
