// The pickle machine: a stack, a memo, and one handler per opcode that the format uses.
#include "tierup/archive/unpickler.h"

#include <bit>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tierup/archive/pickle_globals.h"
#include "tierup/archive/type_restorer.h"
#include "tierup/base/error.h"

namespace tierup::archive {
namespace {

// What a new container costs of the budget of values, by the memory that it takes.
constexpr size_t kContainerCost = 16;

class Machine {
 public:
  Machine(std::string_view bytes, ClassResolver& classes, const StorageLoader& load,
          const UnpickleOptions& options)
      : bytes_(bytes), classes_(classes), calls_(classes, load), options_(options) {}

  IValue run() {
    try {
      while (!done_) step();
      return finish();
    } catch (Error& error) {
      error.add_context(fmt::format("in {} at byte {}{}", options_.name, opcode_at_, near_name()));
      throw;
    }
  }

 private:
  // What is known of a list, dict, tuple or object besides its content.
  struct Facts {
    uint32_t depth = 1;
    // Already inside of another value; changing it now could make it contain itself.
    bool closed = false;
    // A tuple that holds a marker, directly or deeper.
    bool has_marker = false;
  };

  [[noreturn]] void corrupt(const char* what) { fail(ErrorCode::kCorruptArchive, "{}", what); }

  // Reading.
  std::string_view take(size_t count) {
    if (count > bytes_.size() - position_) corrupt("the pickle is cut off");
    const std::string_view part = bytes_.substr(position_, count);
    position_ += count;
    return part;
  }
  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string_view line() {
    const size_t end = bytes_.find('\n', position_);
    if (end == std::string_view::npos) corrupt("the pickle is cut off");
    const std::string_view text = bytes_.substr(position_, end - position_);
    position_ = end + 1;
    return text;
  }

  // The stack. Nothing below the innermost mark can be taken.
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  void push(IValue value, size_t cost = 1) {
    spent_ += cost;
    require(spent_ <= options_.max_values, ErrorCode::kCorruptArchive,
            "the pickle holds too many values");
    stack_.push_back(std::move(value));
  }
  IValue pop() {
    if (stack_.size() <= floor()) corrupt("the pickle takes more values than it has");
    IValue value = std::move(stack_.back());
    stack_.pop_back();
    return value;
  }
  IValue& top() {
    if (stack_.size() <= floor()) corrupt("the pickle takes more values than it has");
    return stack_.back();
  }
  // Everything above the innermost mark, which goes.
  std::vector<IValue> pop_mark() {
    if (marks_.empty()) corrupt("the pickle lacks a mark");
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<IValue> items(std::make_move_iterator(first),
                              std::make_move_iterator(stack_.end()));
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return items;
  }

  // Containers.
  static const void* identity(const IValue& value);
  Facts& facts_of(const IValue& container) { return facts_[identity(container)]; }
  void push_container(IValue value) { push_container(std::move(value), Facts()); }
  void push_container(IValue value, const Facts& facts) {
    facts_[identity(value)] = facts;
    push(std::move(value), kContainerCost);
  }
  // Notes that `item` goes into a container of these facts.
  void enclose(Facts& outer, const IValue& item, bool markers_allowed);
  void push_tuple(std::vector<IValue> items);
  void append(const IValue& list, std::vector<IValue> items);
  void set_items(const IValue& dict, std::vector<IValue> items);
  static void expect_open(const Facts& facts);

  // Opcodes.
  void step();
  bool step_constant(unsigned char opcode);
  bool step_container(unsigned char opcode);
  bool step_memo(unsigned char opcode);
  bool step_call(unsigned char opcode);
  void long_integer();
  // Writers count memos up from zero; other numbers are kept aside, so that none costs memory below
  // it.
  void set_memo(uint32_t id) {
    if (id < memo_.size()) {
      memo_[id] = top();
    } else if (id == memo_.size()) {
      memo_.push_back(top());
    } else {
      far_memo_[id] = top();
    }
  }
  void get_memo(uint32_t id) {
    if (id < memo_.size()) return push(memo_[id]);
    const auto found = far_memo_.find(id);
    if (found == far_memo_.end()) corrupt("the pickle uses a memo that was never set");
    push(found->second);
  }
  void new_object();
  void reduce();
  void build();
  IValue finish();
  // The nearest attribute or key name, for errors: " (near \"weight\")".
  std::string near_name() const;

  std::string_view bytes_;
  ClassResolver& classes_;
  PickleCalls calls_;
  const UnpickleOptions& options_;
  size_t position_ = 0;
  size_t opcode_at_ = 0;
  size_t spent_ = 0;
  bool done_ = false;
  std::vector<IValue> stack_;
  std::vector<size_t> marks_;
  std::vector<IValue> memo_;
  std::unordered_map<uint32_t, IValue> far_memo_;
  std::unordered_map<const void*, Facts> facts_;
};

const void* Machine::identity(const IValue& value) {
  switch (value.tag()) {
    case IValue::Tag::kList: return &value.to_list();
    case IValue::Tag::kDict: return &value.to_dict();
    case IValue::Tag::kTuple: return &value.to_tuple();
    case IValue::Tag::kObject: return &value.to_object();
    default: return nullptr;
  }
}

void Machine::expect_open(const Facts& facts) {
  require(!facts.closed, ErrorCode::kCorruptArchive,
          "the pickle changes a container that is already part of another value");
}

void Machine::enclose(Facts& outer, const IValue& item, bool markers_allowed) {
  if (marker_of(item) != nullptr) {
    outer.has_marker = true;
  } else if (const void* container = identity(item); container != nullptr) {
    Facts& inner = facts_[container];
    if (&inner == &outer) corrupt("the pickle puts a container into itself");
    inner.closed = true;
    outer.has_marker = outer.has_marker || inner.has_marker;
    outer.depth = std::max(outer.depth, inner.depth + 1);
  }
  require(markers_allowed || !outer.has_marker, ErrorCode::kCorruptArchive,
          "the pickle stores a name where a value belongs");
  require(outer.depth <= options_.max_depth, ErrorCode::kCorruptArchive,
          "the pickle nests deeper than {} levels", options_.max_depth);
}

void Machine::push_tuple(std::vector<IValue> items) {
  Facts facts;
  for (const IValue& item : items) enclose(facts, item, true);
  push_container(make_tuple(std::move(items)), facts);
}

void Machine::append(const IValue& list, std::vector<IValue> items) {
  if (!list.is_list()) corrupt("the pickle appends to what is no list");
  Facts& facts = facts_of(list);
  expect_open(facts);
  for (IValue& item : items) {
    enclose(facts, item, false);
    list.to_list().items.push_back(std::move(item));
  }
}

void Machine::set_items(const IValue& dict, std::vector<IValue> items) {
  if (!dict.is_dict() || items.size() % 2 != 0) {
    corrupt("the pickle sets items of what is no dict");
  }
  Facts& facts = facts_of(dict);
  expect_open(facts);
  for (size_t i = 0; i < items.size(); i += 2) {
    enclose(facts, items[i + 1], false);
    dict.to_dict().set(std::move(items[i]), std::move(items[i + 1]));
    spent_ += kContainerCost;
  }
}

void Machine::long_integer() {
  const auto count = number<uint8_t>();
  require(count <= 8, ErrorCode::kUnsupported, "an integer of {} bytes does not fit in 64 bits",
          count);
  const std::string_view digits = take(count);
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(digits[i])) << (8 * i);
  }
  if (count > 0 && count < 8 && (digits[count - 1] & 0x80) != 0)
    value |= ~uint64_t{0} << (8 * count);
  push(IValue(static_cast<int64_t>(value)));
}

bool Machine::step_constant(unsigned char opcode) {
  switch (opcode) {
    case 'N': push(IValue()); return true;
    case 0x88: push(IValue(true)); return true;
    case 0x89: push(IValue(false)); return true;
    case 'K': push(IValue(int64_t{number<uint8_t>()})); return true;
    case 'M': push(IValue(int64_t{number<uint16_t>()})); return true;
    case 'J': push(IValue(int64_t{number<int32_t>()})); return true;
    case 0x8a: long_integer(); return true;
    case 'G':
      push(IValue(std::bit_cast<double>(__builtin_bswap64(number<uint64_t>()))));
      return true;
    case 'X': push(IValue(std::string(take(number<uint32_t>()))), kContainerCost); return true;
    default: return false;
  }
}

bool Machine::step_container(unsigned char opcode) {
  switch (opcode) {
    case ')': push_tuple({}); return true;
    case ']': push_container(make_ref<ListValue>(Type::any())); return true;
    case '}': push_container(make_ref<DictValue>(Type::any(), Type::any())); return true;
    case '(': marks_.push_back(stack_.size()); return true;
    case 't': push_tuple(pop_mark()); return true;
    case 0x85:
    case 0x86:
    case 0x87: {
      std::vector<IValue> items(opcode - 0x84);
      for (size_t i = items.size(); i-- > 0;) items[i] = pop();
      push_tuple(std::move(items));
      return true;
    }
    case 'l': {
      std::vector<IValue> items = pop_mark();
      push_container(make_ref<ListValue>(Type::any()));
      append(top(), std::move(items));
      return true;
    }
    case 'd': {
      std::vector<IValue> items = pop_mark();
      push_container(make_ref<DictValue>(Type::any(), Type::any()));
      set_items(top(), std::move(items));
      return true;
    }
    case 'e': {
      std::vector<IValue> items = pop_mark();
      append(top(), std::move(items));
      return true;
    }
    case 'u': {
      std::vector<IValue> items = pop_mark();
      set_items(top(), std::move(items));
      return true;
    }
    case 'a': {
      std::vector<IValue> items(1);
      items[0] = pop();
      append(top(), std::move(items));
      return true;
    }
    case 's': {
      std::vector<IValue> items(2);
      items[1] = pop();
      items[0] = pop();
      set_items(top(), std::move(items));
      return true;
    }
    default: return false;
  }
}

bool Machine::step_memo(unsigned char opcode) {
  switch (opcode) {
    case 'q': set_memo(number<uint8_t>()); return true;
    case 'r': set_memo(number<uint32_t>()); return true;
    case 'h': get_memo(number<uint8_t>()); return true;
    case 'j': get_memo(number<uint32_t>()); return true;
    default: return false;
  }
}

bool Machine::step_call(unsigned char opcode) {
  switch (opcode) {
    case 'c': {
      const std::string_view module = line();
      const std::string_view name = line();
      push(resolve_global(module, name, classes_), kContainerCost);
      return true;
    }
    case 0x81: new_object(); return true;
    case 'R': reduce(); return true;
    case 'b': build(); return true;
    case 'Q': {
      const IValue identifier = pop();
      push(calls_.persistent_storage(identifier), kContainerCost);
      return true;
    }
    default: return false;
  }
}

void Machine::new_object() {
  const IValue arguments = pop();
  const PickleMarker* callee = marker_of(top());
  if (!arguments.is_tuple() || !arguments.to_tuple().items.empty() || callee == nullptr ||
      callee->global != Global::kNewClass || !callee->type->is(TypeKind::kClass)) {
    corrupt("the pickle makes an object of what is no class");
  }
}

void Machine::reduce() {
  const IValue argument = pop();
  const IValue callee_value = pop();
  const PickleMarker* callee = marker_of(callee_value);
  if (callee == nullptr) corrupt("the pickle calls what is no function");
  if (callee->global == Global::kOrderedDict) {
    if (!argument.is_tuple() || !argument.to_tuple().items.empty()) {
      corrupt("OrderedDict is called with arguments");
    }
    push_container(make_ref<DictValue>(Type::any(), Type::any()));
    return;
  }
  IValue result = calls_.call(*callee, argument);
  // Tagged containers keep their facts; other results are no containers but sizes.
  if (const void* container = identity(result); container != nullptr) facts_.try_emplace(container);
  push(std::move(result), kContainerCost);
}

void Machine::build() {
  const IValue state = pop();
  const IValue target = pop();
  if (target.is_dict()) {  // The attributes of an OrderedDict, such as a state dict's _metadata.
    push(target);
    return;
  }
  const PickleMarker* callee = marker_of(target);
  if (callee == nullptr || callee->global != Global::kNewClass ||
      !callee->type->is(TypeKind::kClass)) {
    corrupt("the pickle builds what is no object");
  }
  Facts facts;
  enclose(facts, state, false);
  IValue object = classes_.build_object(callee->type, state);
  if (identity(object) != nullptr) {
    push_container(std::move(object), facts);
  } else {
    push(std::move(object));
  }
}

void Machine::step() {
  opcode_at_ = position_;
  const auto opcode = number<uint8_t>();
  if (opcode == '.') {
    done_ = true;
  } else if (opcode == 0x80) {
    const auto protocol = number<uint8_t>();
    require(protocol == 2 && opcode_at_ == 0, ErrorCode::kUnsupported,
            "pickle protocol {} is not supported, only 2 is", protocol);
  } else if (!step_constant(opcode) && !step_container(opcode) && !step_memo(opcode) &&
             !step_call(opcode)) {
    fail(ErrorCode::kUnsupported, "unsupported pickle opcode 0x{:02X} at offset {}", opcode,
         opcode_at_);
  }
  if (opcode_at_ == 0 && opcode != 0x80) corrupt("the pickle does not begin with its protocol");
}

IValue Machine::finish() {
  if (stack_.size() != 1 || !marks_.empty()) {
    corrupt("the pickle leaves more or less than one value");
  }
  IValue result = pop();
  Facts facts;
  enclose(facts, result, false);
  return result;
}

std::string Machine::near_name() const {
  for (size_t i = stack_.size(); i-- > 0 && i + 8 > stack_.size();) {
    if (stack_[i].is_str() && stack_[i].to_str().size() < 200) {
      return fmt::format(" (near \"{}\")", stack_[i].to_str());
    }
  }
  return "";
}

}  // namespace

IValue ClassResolver::enum_member(const TypePtr& enum_type, const IValue& value) {
  const EnumType* type = enum_type->as_enum();
  TIERUP_CHECK(type != nullptr);
  Ref<EnumValue> member = type->find_value(value);
  require(static_cast<bool>(member), ErrorCode::kCorruptArchive,
          "the enum {} has no member of the {} in the file", type->name(), value.tag_name());
  return IValue(std::move(member));
}

TypePtr NoClasses::resolve(const std::string& qualified_name) {
  fail(ErrorCode::kUnsupported, "{} is a class, where only plain data is read", qualified_name);
}

TypePtr NoClasses::parse_type(std::string_view annotation) {
  fail(ErrorCode::kUnsupported, "{} is a type tag, where only plain data is read", annotation);
}

IValue NoClasses::build_object(const TypePtr& class_type, IValue) {
  fail(ErrorCode::kUnsupported, "{} is a class, where only plain data is read",
       class_type->to_string());
}

IValue unpickle(std::string_view bytes, ClassResolver& classes, const StorageLoader& load_storage,
                const UnpickleOptions& options) {
  return Machine(bytes, classes, load_storage, options).run();
}

IValue object_from_attributes(const TypePtr& class_type, const IValue& state) {
  const auto type = std::dynamic_pointer_cast<const ClassType>(class_type);
  TIERUP_CHECK(type != nullptr);
  require(state.is_dict(), ErrorCode::kCorruptArchive, "the state of a {} is a {}, not a dict",
          type->name(), state.tag_name());
  const DictValue& values = state.to_dict();
  auto object = make_ref<ObjectValue>(type);
  TypeRestorer restorer;
  for (size_t i = 0; i < type->attributes().size(); ++i) {
    const ClassType::Attribute& attribute = type->attributes()[i];
    const IValue* value = values.find(IValue(attribute.name));
    require(value != nullptr, ErrorCode::kCorruptArchive, "an object of {} lacks its attribute {}",
            type->name(), attribute.name);
    if (TypeRestorer::is_restored(*value, attribute.type)) {
      object->slots[i] = *value;
      continue;
    }
    object->slots[i] = restorer.restore(*value, attribute.type,
                                        fmt::format("{}.{}", type->name(), attribute.name));
  }
  return IValue(std::move(object));
}

}  // namespace tierup::archive
