// Any operators with any arguments of their types: an Error or results, never more; and the same
// results where they may lie in arguments' memory.
//
// A model may call what it likes, and types are all that is checked before a kernel runs. An input
// chooses up to four operators by the hash of their names, and then bytes choose each argument:
// odd shapes and layouts, special numbers, extreme integers, or tensors of the calls before.
// Operators whose arguments cannot be made here (classes, futures) are left out.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <stdexcept>

#include "tierup/base/error.h"
#include "tierup/base/interrupt.h"
#include "tierup/base/memory_use.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/random/generator.h"
#include "tierup/ops/table/op_table.h"
#include "tierup/tensor/allocator.h"

namespace {

using namespace tierup;

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  // 0 when there are no more.
  uint8_t next() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  bool empty() const { return left_ == 0; }
  template <typename T, size_t N>
  const T& one_of(const T (&choices)[N]) {
    return choices[next() % N];
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kFloats[] = {0,    1,    -1,    0.5,   2,    -0.5, 3,     -2,    1e-5, 0.1,
                              kNan, kInf, -kInf, 1e300, -0.0, 1e20, -1e20, 1e-40, 7.5,  100};
constexpr int64_t kInts[] = {0,
                             1,
                             -1,
                             2,
                             3,
                             -2,
                             4,
                             1,
                             0,
                             2,
                             5,
                             7,
                             -3,
                             8,
                             16,
                             100,
                             -100,
                             1000,
                             int64_t{1} << 31,
                             int64_t{1} << 40,
                             -(int64_t{1} << 33),
                             std::numeric_limits<int64_t>::max(),
                             std::numeric_limits<int64_t>::min(),
                             std::numeric_limits<int64_t>::max() / 2 + 1};
constexpr const char* kStrings[] = {
    "",       "mean",     "sum",       "none", "reflect", "constant", "replicate", "circular",
    "ij",     "xy",       "L",         "fro",  "nuc",     "reduced",  "complete",  "r",
    "linear", "bilinear", "bicubic",   "area", "nearest", "tanh",     "prod",      "amax",
    "amin",   "trunc",    "floor",     "left", "right",   "max",      "ij,jk->ik", "...i,i",
    "ii->i",  "{} {:d}",  "%s %d %5f", "a,b",  "x y",     "forward",  "ortho",     "backward"};
constexpr ScalarType kDTypes[] = {
    ScalarType::kFloat,      ScalarType::kFloat,        ScalarType::kFloat,
    ScalarType::kLong,       ScalarType::kLong,         ScalarType::kDouble,
    ScalarType::kInt,        ScalarType::kBool,         ScalarType::kHalf,
    ScalarType::kBFloat16,   ScalarType::kByte,         ScalarType::kChar,
    ScalarType::kShort,      ScalarType::kComplexFloat, ScalarType::kUInt16,
    ScalarType::kUInt32,     ScalarType::kUInt64,       ScalarType::kComplexDouble,
    ScalarType::kFloat8E5M2, ScalarType::kComplexHalf};
constexpr int64_t kSizes[] = {2, 3, 1, 4, 0, 5, 8, 17};

class Arguments {
 public:
  explicit Arguments(Bytes& bytes) : bytes_(bytes) {}

  // A value for each argument; false if one of them has none here.
  bool make(const ir::Schema& schema, std::vector<IValue>& args) {
    variables_.clear();
    for (const ir::Argument& argument : schema.arguments) {
      if (argument.default_value && bytes_.next() % 3 == 0) {
        args.push_back(*argument.default_value);
      } else if (!add(argument, args)) {
        return false;
      }
    }
    if (schema.is_vararg) {
      for (int more = bytes_.next() % 4; more > 0; --more) args.push_back(*value(any()));
    }
    return true;
  }
  void keep(const IValue& result) {
    if (result.is_tensor()) seen_.push_back(result.to_tensor());
  }

 private:
  bool add(const ir::Argument& argument, std::vector<IValue>& args) {
    if (argument.spelling.starts_with("ScalarType") && bytes_.next() % 8 != 0) {
      args.push_back(static_cast<int64_t>(bytes_.one_of(kDTypes)));
      return true;
    }
    std::optional<IValue> made = value(argument.type);
    if (!made) return false;
    args.push_back(std::move(*made));
    return true;
  }

  TypePtr any() {
    const TypePtr choices[] = {Type::tensor(), Type::integer(), Type::floating(), Type::str(),
                               Type::boolean()};
    return bytes_.one_of(choices);
  }

  // The type with variables replaced, the same way in all of a call.
  TypePtr bound(const TypePtr& type) {
    if (type->is(TypeKind::kAny)) return any();
    if (!type->is(TypeKind::kVar)) return type;
    TypePtr& choice = variables_[type->name()];
    if (choice == nullptr) choice = any();
    return choice;
  }

  std::optional<IValue> value(const TypePtr& wanted) {
    const TypePtr type = bound(wanted);
    switch (type->kind()) {
      case TypeKind::kNone: return IValue();
      case TypeKind::kTensor: return tensor();
      case TypeKind::kInt: return bytes_.one_of(kInts);
      case TypeKind::kFloat: return bytes_.one_of(kFloats);
      case TypeKind::kBool: return bytes_.next() % 2 != 0;
      case TypeKind::kComplex: return complex128(bytes_.one_of(kFloats), bytes_.one_of(kFloats));
      case TypeKind::kNumber: return number();
      case TypeKind::kStr: return bytes_.one_of(kStrings);
      case TypeKind::kDevice:
        return Device{bytes_.next() % 8 == 0 ? DeviceType::kMeta : DeviceType::kCpu};
      case TypeKind::kOptional: return optional(type->element());
      case TypeKind::kList: return list(bound(type->element()));
      case TypeKind::kDict: return dict(bound(type->element(0)), bound(type->element(1)));
      case TypeKind::kTuple: return tuple(type->elements());
      default: return std::nullopt;
    }
  }

  IValue number() {
    switch (bytes_.next() % 4) {
      case 0: return bytes_.one_of(kInts);
      case 1: return bytes_.one_of(kFloats);
      case 2: return bytes_.next() % 2 != 0;
      default: return complex128(bytes_.one_of(kFloats), bytes_.one_of(kFloats));
    }
  }
  IValue optional(const TypePtr& type) {
    if (bytes_.next() % 2 == 0) return {};
    return value(type).value_or(IValue());
  }
  std::optional<IValue> list(const TypePtr& element) {
    std::vector<IValue> items;
    for (int count = bytes_.next() % 5; count > 0; --count) {
      std::optional<IValue> item = value(element);
      if (!item) return std::nullopt;
      items.push_back(std::move(*item));
    }
    return make_ref<ListValue>(element, std::move(items));
  }
  std::optional<IValue> dict(const TypePtr& key, const TypePtr& of) {
    auto result = make_ref<DictValue>(key, of);
    for (int count = bytes_.next() % 4; count > 0; --count) {
      std::optional<IValue> k = value(key);
      std::optional<IValue> v = value(of);
      if (!k || !v) return std::nullopt;
      result->set(std::move(*k), std::move(*v));
    }
    return result;
  }
  std::optional<IValue> tuple(const std::vector<TypePtr>& elements) {
    std::vector<IValue> items;
    for (const TypePtr& element : elements) {
      std::optional<IValue> item = value(element);
      if (!item) return std::nullopt;
      items.push_back(std::move(*item));
    }
    return make_tuple(std::move(items));
  }

  IValue tensor() {
    const uint8_t how = bytes_.next();
    if (how % 4 == 0 && !seen_.empty()) return seen_[how / 4 % seen_.size()];
    IntVector sizes;
    for (int rank = bytes_.next() % 6; rank > 0; --rank) sizes.push_back(bytes_.one_of(kSizes));
    if (numel_of(sizes) > 1 << 14) sizes.resize(2);
    Tensor result = laid_out(numbers(sizes, bytes_.one_of(kDTypes)), bytes_.next());
    seen_.push_back(result);
    return result;
  }

  Tensor numbers(IntSpan sizes, ScalarType dtype) {
    Tensor result = Tensor::empty(sizes, ScalarType::kDouble);
    const uint8_t kind = bytes_.next() % 8;
    for (int64_t i = 0; i < result.numel(); ++i) result.data<double>()[i] = element(kind, i);
    return kernels::to_dtype(result, dtype);
  }
  double element(uint8_t kind, int64_t i) {
    switch (kind) {
      case 0: return static_cast<double>(i % 5);
      case 1: return static_cast<double>(i % 7) * 0.25 - 0.5;
      case 2: return std::sin(static_cast<double>(i)) * 2;
      case 3: return kFloats[static_cast<size_t>(i) % std::size(kFloats)];
      case 4: return static_cast<double>(kInts[static_cast<size_t>(i) % std::size(kInts)]);
      case 5: return -1 - static_cast<double>(i % 3);
      case 6: return bytes_.one_of(kFloats);
      default: return 0;
    }
  }

  static Tensor laid_out(const Tensor& tensor, uint8_t how) {
    IntVector sizes(tensor.sizes().begin(), tensor.sizes().end());
    IntVector strides(tensor.strides().begin(), tensor.strides().end());
    if (sizes.empty()) return tensor;
    switch (how % 8) {
      case 1:
        std::swap(sizes.front(), sizes.back());
        std::swap(strides.front(), strides.back());
        return tensor.as_view(sizes, strides, 0);
      case 2: strides.front() = 0; return tensor.as_view(sizes, strides, 0);
      case 3: strides.back() = 0; return tensor.as_view(sizes, strides, 0);
      case 4:
        if (sizes.front() < 2) return tensor;
        --sizes.front();
        return tensor.as_view(sizes, strides, strides.front());
      case 5:
        sizes.back() = (sizes.back() + 1) / 2;
        strides.back() *= 2;
        return tensor.as_view(sizes, strides, 0);
      case 6: return lazy(tensor);
      default: return tensor;
    }
  }
  static Tensor lazy(const Tensor& tensor) {
    Tensor result = tensor.detach();
    const bool is_complex =
        tensor.dtype() == ScalarType::kComplexFloat || tensor.dtype() == ScalarType::kComplexDouble;
    if (is_complex) result.impl()->conjugate = true;
    return result;
  }

  Bytes& bytes_;
  std::vector<Tensor> seen_;
  std::map<std::string, TypePtr> variables_;
};

// Whether all that the value names lies within its storage.
void check(const IValue& value, const TypePtr& type) {
  if (value.is_list()) {
    for (const IValue& item : value.to_list().items) check(item, nullptr);
  }
  if (type != nullptr && type->is(TypeKind::kTensor)) {
    TIERUP_CHECK(value.is_tensor() || value.is_none());
  }
  if (!value.is_tensor()) return;
  const Tensor tensor = value.to_tensor();
  if (tensor.is_meta() || tensor.numel() == 0) return;
  Tensor::from_storage(tensor.storage(), tensor.dtype(), tensor.sizes(), tensor.strides(),
                       tensor.offset());
  if (tensor.numel() < 1 << 16) kernels::clone(tensor, MemoryFormat::kContiguous);
}

// The first result of a call to which the arguments are moved.
Tensor first_result(const ops::Op& op, std::vector<IValue> args, ops::RunContext& context) {
  std::vector<IValue> results(op.schema().returns.size());
  ops::OpCall made{args, results, context};
  op.kernel()(made);
  return results[0].to_tensor();
}

// Arguments like these that nobody else holds; what is one tensor here is one there.
std::vector<IValue> copies_of(const std::vector<IValue>& args) {
  std::map<const TensorImpl*, Tensor> copies;
  std::vector<IValue> result(args);
  for (IValue& arg : result) {
    if (!arg.is_tensor()) continue;
    const auto [copy, is_new] = copies.try_emplace(arg.tensor_impl());
    if (is_new) copy->second = kernels::clone(arg.to_tensor());
    arg = copy->second;
  }
  return result;
}

// Bit for bit, but for what kind of NaN a NaN is.
bool are_alike(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !std::ranges::equal(a.sizes(), b.sizes())) return false;
  const Tensor x = kernels::clone(a, MemoryFormat::kContiguous);
  const Tensor y = kernels::clone(b, MemoryFormat::kContiguous);
  if (std::memcmp(x.raw(), y.raw(), x.bytes()) == 0) return true;
  if (is_integral(a.dtype(), true)) return false;
  const Tensor v = kernels::to_dtype(x, ScalarType::kComplexDouble);
  const Tensor w = kernels::to_dtype(y, ScalarType::kComplexDouble);
  const auto* numbers = static_cast<const double*>(v.raw());
  const auto* others = static_cast<const double*>(w.raw());
  for (int64_t i = 0; i < 2 * v.numel(); ++i) {
    if (numbers[i] != others[i] && !(std::isnan(numbers[i]) && std::isnan(others[i]))) return false;
  }
  return true;
}

// Whether results that may lie in arguments' memory, which are moved, are those of arguments that
// somebody holds.
void check_dying(const ops::Op& op, const std::vector<IValue>& args, ops::RunContext& context) {
  if (op.body() == nullptr && op.schema().qualified_name() != "aten::batch_norm") return;
  const std::vector<IValue> held = copies_of(args);
  const Tensor expected = first_result(op, held, context);
  if (expected.is_meta() || expected.numel() >= 1 << 16) return;
  bool alike = false;
  try {
    alike = are_alike(first_result(op, copies_of(held), context), expected);
  } catch (const Error& error) {
    alike = error.code() == ErrorCode::kOutOfMemory || error.code() == ErrorCode::kDeadlineExceeded;
  }
  TIERUP_CHECK(alike);
}

void call(const ops::Op& op, Arguments& arguments, kernels::Generator& generator) {
  std::vector<IValue> args;
  if (!arguments.make(op.schema(), args)) return;
  if (std::getenv("SHOW") != nullptr) {
    std::fprintf(stderr, "%s\n", op.schema().to_string().c_str());
    for (const IValue& arg : args)
      std::fprintf(stderr, "  %s\n",
                   arg.is_tensor() ? arg.to_tensor().describe().c_str() : arg.tag_name().data());
  }
  std::vector<IValue> results(op.schema().returns.size());
  ops::RunContext context;
  context.generator = &generator;
  context.print = context.warn = [](const std::string&) {};
  const std::vector<IValue> given = args;
  ops::OpCall made{args, results, context};
  op.kernel()(made);
  for (size_t i = 0; i < results.size(); ++i) {
    check(results[i], op.schema().returns[i].type);
    arguments.keep(results[i]);
  }
  check_dying(op, given, context);
}

// By the hash of their names, so that inputs mean the same when operators are added.
const std::vector<std::pair<uint32_t, const ops::Op*>>& operators() {
  static const auto result = [] {
    std::vector<std::pair<uint32_t, const ops::Op*>> all;
    for (const ops::Op* op : ops::OpTable::instance().all()) {
      if (op->kernel() == nullptr) continue;
      uint32_t hash = 2166136261U;
      for (const char c : op->schema().qualified_name()) {
        hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
      }
      all.emplace_back(hash >> 8U, op);
    }
    std::sort(all.begin(), all.end());
    return all;
  }();
  return result;
}

const ops::Op& chosen(uint32_t hash) {
  const auto& all = operators();
  const auto found = std::lower_bound(all.begin(), all.end(), hash,
                                      [](const auto& a, uint32_t b) { return a.first < b; });
  return *(found == all.end() ? all.front() : *found).second;
}

// What a run asks within its steps. Questions stand for its time: an input takes as many each time.
class Limits final : public Interrupt {
 public:
  void poll() const override {
    check_object_limit();
    if (++questions_ > kMostQuestions) throw Error(ErrorCode::kDeadlineExceeded, "too long");
  }

 private:
  static constexpr int kMostQuestions = 1000;
  mutable int questions_ = 0;  // There is one thread.
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  set_memory_limit(int64_t{1} << 28);
  const ThreadCountScope one_thread(1);
  const Limits limits;
  const InterruptScope asked(&limits);
  Bytes bytes(data, size);
  Arguments arguments(bytes);
  kernels::Generator generator(1);
  for (int calls = 0; calls < 4 && !bytes.empty(); ++calls) {
    uint32_t hash = bytes.next();
    hash = hash << 8U | bytes.next();
    hash = hash << 8U | bytes.next();
    try {
      call(chosen(hash), arguments, generator);
    } catch (const Error& error) {
      TIERUP_CHECK(error.code() != ErrorCode::kInternal);
    } catch (const std::bad_alloc&) {     // An Error kOutOfMemory by the time it leaves a run,
    } catch (const std::length_error&) {  // as this one is.
    }
  }
  return 0;
}
