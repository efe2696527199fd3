// One opcode after the other, in protocol 2.
#include "tierup/archive/pickle_writer.h"

#include <bit>
#include <limits>

#include "tierup/archive/pickle_globals.h"
#include "tierup/base/error.h"

namespace tierup::archive {
namespace {

constexpr std::string_view kTrue = "\x88";
constexpr std::string_view kFalse = "\x89";
constexpr std::string_view kEmptyObject = ")\x81";  // The class called without arguments.
constexpr size_t kMostDepth = 500;                  // Half of what the reader takes.

template <typename T>
void put(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

std::string below(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

[[noreturn]] void refuse(const std::string& path, std::string_view what) {
  fail(ErrorCode::kUnsupported, "'{}' cannot be saved: {}", path.empty() ? "the value" : path,
       what);
}

// The builder that tags a list of this element, or empty.
std::string_view list_builder(const TypePtr& element) {
  switch (element->kind()) {
    case TypeKind::kInt: return "build_intlist";
    case TypeKind::kFloat: return "build_doublelist";
    case TypeKind::kBool: return "build_boollist";
    case TypeKind::kTensor: return "build_tensorlist";
    default: return "";
  }
}

bool has_typed_storage(ScalarType dtype) {
  const bool is_float8 = is_floating(dtype) && item_size(dtype) == 1;
  return !is_float8 && dtype != ScalarType::kUInt16 && dtype != ScalarType::kUInt32 &&
         dtype != ScalarType::kUInt64;
}

const void* identity_of(const IValue& value) {
  switch (value.tag()) {
    case IValue::Tag::kTensor: return value.tensor_impl();
    case IValue::Tag::kList: return &value.to_list();
    case IValue::Tag::kDict: return &value.to_dict();
    case IValue::Tag::kTuple: return &value.to_tuple();
    case IValue::Tag::kObject: return &value.to_object();
    case IValue::Tag::kEnum: return &value.to_enum();
    default: return nullptr;
  }
}

}  // namespace

PickleWriter::PickleWriter(PickleDialect dialect, StateOf state_of)
    : dialect_(dialect), state_of_(std::move(state_of)), out_("\x80\x02") {}

std::string PickleWriter::finish() { return std::move(out_) + "."; }

void PickleWriter::begin_dict() { out_ += "}("; }

void PickleWriter::text(std::string_view text) {
  require(text.size() <= std::numeric_limits<uint32_t>::max(), ErrorCode::kUnsupported,
          "a string of {} bytes does not fit in a pickle", text.size());
  out_ += 'X';
  put<uint32_t>(out_, static_cast<uint32_t>(text.size()));
  out_ += text;
}

void PickleWriter::integer(int64_t value) {
  if (value >= 0 && value <= 0xff) {
    out_ += 'K';
    put<uint8_t>(out_, static_cast<uint8_t>(value));
  } else if (value >= 0 && value <= 0xffff) {
    out_ += 'M';
    put<uint16_t>(out_, static_cast<uint16_t>(value));
  } else if (value == static_cast<int32_t>(value)) {
    out_ += 'J';
    put<uint32_t>(out_, static_cast<uint32_t>(value));
  } else {
    out_ += "\x8a\x08";
    put<uint64_t>(out_, static_cast<uint64_t>(value));
  }
}

void PickleWriter::floating(double value) {
  out_ += 'G';
  put<uint64_t>(out_, __builtin_bswap64(std::bit_cast<uint64_t>(value)));
}

void PickleWriter::global(std::string_view module, std::string_view name) {
  out_ += fmt::format("c{}\n{}\n", module, name);
}

void PickleWriter::size_tuple(IntSpan sizes) {
  out_ += '(';
  for (const int64_t size : sizes) integer(size);
  out_ += 't';
}

// Names what was written before; false if it was not.
bool PickleWriter::recall(const void* identity) {
  const auto found = memo_.find(identity);
  if (found == memo_.end()) return false;
  if (found->second <= 0xff) {
    out_ += 'h';
    put<uint8_t>(out_, static_cast<uint8_t>(found->second));
  } else {
    out_ += 'j';
    put<uint32_t>(out_, found->second);
  }
  return true;
}

void PickleWriter::remember(const void* identity) {
  const auto id = static_cast<uint32_t>(memo_.size());
  memo_.emplace(identity, id);
  if (id <= 0xff) {
    out_ += 'q';
    put<uint8_t>(out_, static_cast<uint8_t>(id));
  } else {
    out_ += 'r';
    put<uint32_t>(out_, id);
  }
}

void PickleWriter::value(const IValue& value, const std::string& path) {
  switch (value.tag()) {
    case IValue::Tag::kNone: out_ += 'N'; return;
    case IValue::Tag::kInt: return integer(value.to_int());
    case IValue::Tag::kFloat: return floating(value.to_float());
    case IValue::Tag::kBool: out_ += value.to_bool() ? kTrue : kFalse; return;
    case IValue::Tag::kStr: return text(value.to_str());
    case IValue::Tag::kComplex:
      global("builtins", "complex");
      floating(value.to_complex().real());
      floating(value.to_complex().imag());
      out_ += "\x86R";
      return;
    case IValue::Tag::kDevice:
      global("torch", "device");
      text(value.to_device().to_string());
      out_ += "\x85R";
      return;
    case IValue::Tag::kUninitialized: refuse(path, "it was never set");
    case IValue::Tag::kFuture: refuse(path, "it is the result of a fork");
    case IValue::Tag::kFunction: refuse(path, "it is a function");
    case IValue::Tag::kCapsule:
      refuse(path, "it is a generator, stream or another object of the host");
    default: shared(value, identity_of(value), path);
  }
}

void PickleWriter::shared(const IValue& value, const void* identity, const std::string& path) {
  if (recall(identity)) return;
  if (!open_.insert(identity).second) refuse(path, "it contains itself");
  require(open_.size() <= kMostDepth, ErrorCode::kRecursionLimit,
          "'{}' cannot be saved: it is nested deeper than {} levels", path, kMostDepth);
  switch (value.tag()) {
    case IValue::Tag::kTensor: tensor(value.to_tensor(), path); break;
    case IValue::Tag::kList: list(value.to_list(), path); break;
    case IValue::Tag::kDict: dict(value.to_dict(), path); break;
    case IValue::Tag::kTuple: tuple(value.to_tuple(), path); break;
    case IValue::Tag::kObject: object(value.object_ref(), path); break;
    default: enum_member(value.to_enum(), path);
  }
  open_.erase(identity);
  kept_.push_back(value);
  remember(identity);
}

void PickleWriter::end_tag(const std::string& type) {
  text(type);
  out_ += "\x86R";
}

void PickleWriter::list(const ListValue& list, const std::string& path) {
  const bool typed = dialect_ == PickleDialect::kTorchScript;
  const std::string_view builder = typed ? list_builder(list.element) : "";
  if (!builder.empty()) {
    global("torch.jit._pickle", builder);
  } else if (typed) {
    global("torch.jit._pickle", "restore_type_tag");
  }
  out_ += ']';
  if (!list.items.empty()) {
    out_ += '(';
    for (size_t i = 0; i < list.items.size(); ++i) {
      value(list.items[i], fmt::format("{}[{}]", path, i));
    }
    out_ += 'e';
  }
  if (!builder.empty()) {
    out_ += "\x85R";
  } else if (typed) {
    end_tag(Type::list(list.element)->to_string());
  }
}

void PickleWriter::dict(const DictValue& dict, const std::string& path) {
  const bool typed = dialect_ == PickleDialect::kTorchScript;
  if (typed) global("torch.jit._pickle", "restore_type_tag");
  out_ += '}';
  if (dict.size() > 0) {
    out_ += '(';
    for (const auto& [key, item] : dict.entries()) {
      const std::string name = fmt::format("{}[{}]", path, to_text(key));
      value(key, name);
      value(item, name);
    }
    out_ += 'u';
  }
  if (typed) end_tag(Type::dict(dict.key, dict.value)->to_string());
}

void PickleWriter::tuple(const TupleValue& tuple, const std::string& path) {
  out_ += '(';
  for (size_t i = 0; i < tuple.items.size(); ++i) {
    value(tuple.items[i], fmt::format("{}[{}]", path, i));
  }
  out_ += 't';
}

void PickleWriter::object(const Ref<ObjectValue>& object, const std::string& path) {
  if (dialect_ != PickleDialect::kTorchScript) refuse(path, "it is an object of a class");
  const std::string& name = object->type->name();
  const size_t dot = name.rfind('.');
  global(std::string_view(name).substr(0, dot), std::string_view(name).substr(dot + 1));
  out_ += kEmptyObject;
  if (const std::optional<IValue> state = state_of_ ? state_of_(object) : std::nullopt) {
    kept_.push_back(*state);
    value(*state, below(path, "__getstate__()"));
  } else {
    const auto& attributes = object->type->attributes();
    out_ += '}';
    if (!attributes.empty()) {
      out_ += '(';
      for (size_t i = 0; i < attributes.size(); ++i) {
        text(attributes[i].name);
        value(object->slots[i], below(path, attributes[i].name));
      }
      out_ += 'u';
    }
  }
  out_ += 'b';
}

void PickleWriter::enum_member(const EnumValue& member, const std::string& path) {
  if (dialect_ != PickleDialect::kTorchScript) refuse(path, "it is a member of an enum");
  const auto type = member.type.lock();
  if (type == nullptr) refuse(path, "its module is gone");
  const size_t dot = type->name().rfind('.');
  global(std::string_view(type->name()).substr(0, dot),
         std::string_view(type->name()).substr(dot + 1));
  value(member.value, path);
  out_ += 'R';
}

void PickleWriter::storage(const Tensor& tensor) {
  const Ref<Storage>& storage = tensor.storage();
  const auto [found, is_new] = storage_index_.emplace(storage.get(), storages_.size());
  if (is_new) storages_.push_back({fmt::format("{}", storages_.size()), storage});
  out_ += '(';
  text("storage");
  global("torch", storage_type_name(tensor.dtype()));
  text(storages_[found->second].key);
  text("cpu");
  integer(static_cast<int64_t>(storage->bytes() / tensor.item_size()));
  out_ += "tQ";
}

void PickleWriter::tensor(const Tensor& tensor, const std::string& path) {
  if (tensor.is_meta()) refuse(path, "it is a tensor without data (device \"meta\")");
  if (is_quantized(tensor.dtype())) refuse(path, "it is quantized");
  if (dialect_ == PickleDialect::kTorchSave && !has_typed_storage(tensor.dtype())) {
    refuse(path, fmt::format("torch.save files of this form have no {}; safetensors files do",
                             dtype_name(tensor.dtype())));
  }
  global("torch._utils", "_rebuild_tensor_v2");
  out_ += '(';
  storage(tensor);
  integer(tensor.offset());
  size_tuple(tensor.sizes());
  size_tuple(tensor.strides());
  out_ += tensor.requires_grad() ? kTrue : kFalse;
  global("collections", "OrderedDict");
  out_ += ")R";
  const TensorImpl& facts = *tensor.impl();
  if (facts.conjugate || facts.negative) {
    begin_dict();
    if (facts.conjugate) {
      text("conj");
      out_ += kTrue;
    }
    if (facts.negative) {
      text("neg");
      out_ += kTrue;
    }
    end_dict();
  }
  out_ += "tR";
}

void PickleWriter::parameter(const Tensor& tensor, const std::string& path) {
  global("torch._utils", "_rebuild_parameter");
  out_ += '(';
  value(IValue(tensor), path);
  out_ += tensor.requires_grad() ? kTrue : kFalse;
  global("collections", "OrderedDict");
  out_ += ")RtR";
}

void PickleWriter::state_dict(const NamedTensors& tensors) {
  global("collections", "OrderedDict");
  out_ += ")R";
  if (tensors.empty()) return;
  out_ += '(';
  for (const auto& [name, tensor] : tensors) {
    text(name);
    value(IValue(tensor), name);
  }
  out_ += 'u';
}

}  // namespace tierup::archive
