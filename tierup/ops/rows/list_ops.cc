// Lists: references to growing sequences. Indices may be negative; all are checked.
#include <algorithm>

#include "tierup/base/interrupt.h"
#include "tierup/base/memory_use.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/number_kernels.h"
#include "tierup/ops/table/sequence_slice.h"

namespace tierup::ops {
namespace {

constexpr int64_t kMaxListLength = int64_t{1} << 32;

std::vector<IValue>& items_of(OpCall& call) { return call.args[0].to_list().items; }

// The position of a possibly negative index.
size_t checked_index(const std::vector<IValue>& items, int64_t index) {
  const auto size = static_cast<int64_t>(items.size());
  if (index < 0) index += size;
  require(index >= 0 && index < size, ErrorCode::kOutOfRange, "list index out of range");
  return static_cast<size_t>(index);
}

// Equality as the list operators see it: tensors by the truth of ==, which wants one element.
bool elements_equal(const IValue& a, const IValue& b) {
  if (!a.is_tensor() || !b.is_tensor()) return values_equal(a, b);
  IValue left = a;
  IValue right = b;
  return values_equal(IValue(IValue(detail::unbox_tensor(left)).to_scalar()),
                      IValue(IValue(detail::unbox_tensor(right)).to_scalar()));
}

std::vector<IValue>::iterator find(std::vector<IValue>& items, const IValue& wanted) {
  return std::find_if(items.begin(), items.end(),
                      [&](const IValue& item) { return elements_equal(item, wanted); });
}

void append(OpCall& call) {
  items_of(call).push_back(std::move(call.args[1]));
  call.results[0] = std::move(call.args[0]);
}

void extend_list(OpCall& call) {
  const std::vector<IValue> added = call.args[1].to_list().items;  // May be the same list.
  std::vector<IValue>& items = items_of(call);
  items.insert(items.end(), added.begin(), added.end());
}
void extend(OpCall& call) { extend_list(call); }
void extend_self(OpCall& call) {
  extend_list(call);
  call.results[0] = std::move(call.args[0]);
}

void concatenate_lists(OpCall& call) {
  const ListValue& a = call.args[0].to_list();
  const ListValue& b = call.args[1].to_list();
  auto result = make_ref<ListValue>(a.element);
  result->items.reserve(a.items.size() + b.items.size());
  result->items.insert(result->items.end(), a.items.begin(), a.items.end());
  result->items.insert(result->items.end(), b.items.begin(), b.items.end());
  call.results[0] = IValue(std::move(result));
}

// Appends the items `count` times.
void append_repeated(std::vector<IValue>& to, const std::vector<IValue>& items, int64_t count) {
  constexpr int64_t kRoundsUnasked = 1 << 12;
  const auto length = static_cast<int64_t>(items.size());
  if (length == 0 || count <= 0) return;
  require(count <= kMaxListLength / length, ErrorCode::kOutOfMemory,
          "a list of {} elements cannot be repeated {} times", length, count);
  check_object_limit(static_cast<size_t>(length * count) * sizeof(IValue));
  to.reserve(to.size() + static_cast<size_t>(length * count));
  for (int64_t i = 0; i < count; ++i) {
    if (i % kRoundsUnasked == 0) poll_interrupt();
    to.insert(to.end(), items.begin(), items.end());
  }
}

void repeat_self(OpCall& call) {
  std::vector<IValue>& items = items_of(call);
  const std::vector<IValue> once = items;
  items.clear();
  append_repeated(items, once, call.args[1].to_int());
  call.results[0] = std::move(call.args[0]);
}

// "l * n" and "n * l".
void repeat_list(OpCall& call) {
  const bool list_first = call.args[0].is_list();
  const ListValue& list = call.args[list_first ? 0 : 1].to_list();
  auto result = make_ref<ListValue>(list.element);
  append_repeated(result->items, list.items, call.args[list_first ? 1 : 0].to_int());
  call.results[0] = IValue(std::move(result));
}

// Positions outside are clamped.
void insert(OpCall& call) {
  std::vector<IValue>& items = items_of(call);
  const auto size = static_cast<int64_t>(items.size());
  int64_t index = call.args[1].to_int();
  if (index < 0) index += size;
  index = std::clamp<int64_t>(index, 0, size);
  items.insert(items.begin() + index, std::move(call.args[2]));
}

void pop(OpCall& call) {
  std::vector<IValue>& items = items_of(call);
  require(!items.empty(), ErrorCode::kOutOfRange, "pop from empty list");
  const size_t index = checked_index(items, call.args[1].to_int());
  IValue item = std::move(items[index]);
  items.erase(items.begin() + static_cast<ptrdiff_t>(index));
  call.results[0] = std::move(item);
}

void remove(OpCall& call) {
  std::vector<IValue>& items = items_of(call);
  const auto found = find(items, call.args[1]);
  require(found != items.end(), ErrorCode::kInvalidArgument, "list.remove(x): x not in list");
  items.erase(found);
}

void reverse(OpCall& call) { std::reverse(items_of(call).begin(), items_of(call).end()); }
void clear(OpCall& call) { items_of(call).clear(); }
void copy(OpCall& call) {
  const ListValue& list = call.args[0].to_list();
  call.results[0] = IValue(make_ref<ListValue>(list.element, list.items));
}
void length(OpCall& call) { call.results[0] = IValue(static_cast<int64_t>(items_of(call).size())); }

void index(OpCall& call) {
  std::vector<IValue>& items = items_of(call);
  const auto found = find(items, call.args[1]);
  if (found == items.end()) {
    fail(ErrorCode::kInvalidArgument, "'{}' is not in list", to_text(call.args[1]));
  }
  call.results[0] = IValue(static_cast<int64_t>(found - items.begin()));
}

void count(OpCall& call) {
  const auto& items = items_of(call);
  call.results[0] = IValue(
      static_cast<int64_t>(std::count_if(items.begin(), items.end(), [&](const IValue& item) {
        return elements_equal(item, call.args[1]);
      })));
}

void contains(OpCall& call) {
  std::vector<IValue>& items = items_of(call);
  call.results[0] = IValue(find(items, call.args[1]) != items.end());
}

void delete_item(OpCall& call) {
  std::vector<IValue>& items = items_of(call);
  const size_t index = checked_index(items, call.args[1].to_int());
  items.erase(items.begin() + static_cast<ptrdiff_t>(index));
}

void set_item(OpCall& call) {
  std::vector<IValue>& items = items_of(call);
  items[checked_index(items, call.args[1].to_int())] = std::move(call.args[2]);
  call.results[0] = std::move(call.args[0]);
}

void get_item(OpCall& call) {
  const std::vector<IValue>& items = items_of(call);
  IValue item = items[checked_index(items, call.args[1].to_int())];
  call.results[0] = std::move(item);
}

void slice(OpCall& call) {
  const ListValue& list = call.args[0].to_list();
  const SlicePositions positions = slice_positions(
      static_cast<int64_t>(list.items.size()), call.args[1], call.args[2], call.args[3].to_int());
  auto result = make_ref<ListValue>(list.element);
  result->items.reserve(static_cast<size_t>(positions.count));
  for (int64_t i = 0; i < positions.count; ++i) {
    result->items.push_back(list.items[static_cast<size_t>(positions.first + i * positions.step)]);
  }
  call.results[0] = IValue(std::move(result));
}

// Numbers, strings, tuples of them, and tensors of one element. NaN sorts last, so that this is
// an order at all.
bool element_less(const IValue& a, const IValue& b) {
  if (is_integral(a) && is_integral(b)) return a.to_int() < b.to_int();
  if (a.is_str() && b.is_str()) return a.to_str() < b.to_str();
  if (a.is_tuple() && b.is_tuple()) {
    const auto& left = a.to_tuple().items;
    const auto& right = b.to_tuple().items;
    return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end(),
                                        element_less);
  }
  require(!a.is_object(), ErrorCode::kUnsupported,
          "sorting a list of objects by their __lt__ is not supported");
  IValue left = a;
  IValue right = b;
  const auto number = [](IValue& value) {
    return value.is_tensor() ? IValue(detail::unbox_tensor(value)).to_scalar().to_double()
                             : value.to_float();
  };
  const double x = number(left);
  const double y = number(right);
  return x < y || (y != y && x == x);
}

void sort_items(std::vector<IValue>& items, bool descending) {
  if (descending) {
    std::stable_sort(items.begin(), items.end(),
                     [](const IValue& a, const IValue& b) { return element_less(b, a); });
  } else {
    std::stable_sort(items.begin(), items.end(), element_less);
  }
}

void sort(OpCall& call) { sort_items(items_of(call), call.args[1].to_bool()); }
void sorted(OpCall& call) {
  const ListValue& list = call.args[0].to_list();
  auto result = make_ref<ListValue>(list.element, list.items);
  sort_items(result->items, false);
  call.results[0] = IValue(std::move(result));
}

bool is_true(const IValue& value) {
  if (value.is_str()) return !value.to_str().empty();
  return value.to_scalar().to_bool();
}
void any(OpCall& call) {
  const auto& items = items_of(call);
  call.results[0] = IValue(std::any_of(items.begin(), items.end(), is_true));
}
void all(OpCall& call) {
  const auto& items = items_of(call);
  call.results[0] = IValue(std::all_of(items.begin(), items.end(), is_true));
}

void sum(OpCall& call) {
  const ListValue& list = call.args[0].to_list();
  if (list.element->is(TypeKind::kFloat)) {
    double total = 0;
    for (const IValue& item : list.items) total += item.to_float();
    call.results[0] = IValue(total);
  } else if (list.element->is(TypeKind::kComplex)) {
    complex128 total = 0;
    for (const IValue& item : list.items) total += item.to_complex();
    call.results[0] = IValue(total);
  } else {
    int64_t total = 0;
    for (const IValue& item : list.items) total = wrapping_add(total, item.to_int());
    call.results[0] = IValue(total);
  }
}

void range_list(OpCall& call) {
  const int64_t count = std::max<int64_t>(call.args[0].to_int(), 0);
  require(count <= kMaxListLength, ErrorCode::kOutOfMemory, "a list of {} elements is too long",
          count);
  auto result = make_ref<ListValue>(Type::integer());
  result->items.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) result->items.emplace_back(i);
  call.results[0] = IValue(std::move(result));
}

// len(range(lo, hi, step)).
void range_length(OpCall& call) {
  const int64_t low = call.args[0].to_int();
  const int64_t high = call.args[1].to_int();
  const int64_t step = call.args[2].to_int();
  require(step != 0, ErrorCode::kInvalidArgument, "range() arg 3 must not be zero");
  const bool forward = step > 0;
  uint64_t count = 0;
  if (forward ? low < high : low > high) {
    const uint64_t distance = forward ? static_cast<uint64_t>(high) - static_cast<uint64_t>(low)
                                      : static_cast<uint64_t>(low) - static_cast<uint64_t>(high);
    const uint64_t width =
        forward ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
    count = (distance - 1) / width + 1;
  }
  call.results[0] = IValue(static_cast<int64_t>(std::min<uint64_t>(count, INT64_MAX)));
}

// start + index * step.
void derive_index(OpCall& call) {
  call.results[0] = IValue(wrapping_add(
      call.args[1].to_int(), wrapping_mul(call.args[0].to_int(), call.args[2].to_int())));
}

constexpr OpRow kRows[] = {
    {"aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)", &append, ir::kNoEffect, nullptr,
     facts(Role::kAppend)},
    {"aten::extend.t(t[](a!) self, t[] other) -> ()", &extend},
    {"aten::insert.t(t[](a!) self, int idx, t(b -> *) el) -> ()", &insert, ir::kMayRaise},
    {"aten::pop.t(t[](a!) self, int idx=-1) -> t(*)", &pop, ir::kMayRaise},
    {"aten::remove.int(int[](a!) self, int el) -> ()", &remove, ir::kMayRaise},
    {"aten::remove.float(float[](a!) self, float el) -> ()", &remove, ir::kMayRaise},
    {"aten::remove.bool(bool[](a!) self, bool el) -> ()", &remove, ir::kMayRaise},
    {"aten::remove.Tensor(Tensor[](a!) self, Tensor el) -> ()", &remove, ir::kMayRaise},
    {"aten::remove.str(str[](a!) self, str el) -> ()", &remove, ir::kMayRaise},
    {"aten::reverse.t(t[](a!) self) -> ()", &reverse},
    {"aten::clear.t(t[](a!) self) -> ()", &clear},
    {"aten::copy.t(t[](a) self) -> t[]", &copy},
    {"aten::list.t(t[] l) -> t[]", &copy},
    {"aten::index.list_int(int[] self, int el) -> int", &index, ir::kMayRaise},
    {"aten::index.list_float(float[] self, float el) -> int", &index, ir::kMayRaise},
    {"aten::index.list_bool(bool[] self, bool el) -> int", &index, ir::kMayRaise},
    {"aten::index.list_Tensor(Tensor[] self, Tensor el) -> int", &index, ir::kMayRaise},
    {"aten::index.list_str(str[] self, str el) -> int", &index, ir::kMayRaise},
    {"aten::count.int(int[] self, int el) -> int", &count},
    {"aten::count.float(float[] self, float el) -> int", &count},
    {"aten::count.bool(bool[] self, bool el) -> int", &count},
    {"aten::count.Tensor(Tensor[] self, Tensor el) -> int", &count},
    {"aten::count.str(str[] self, str el) -> int", &count},
    {"aten::__contains__.int_list(int[] l, int item) -> bool", &contains},
    {"aten::__contains__.str_list(str[] l, str item) -> bool", &contains},
    {"aten::__contains__.float_list(float[] l, float item) -> bool", &contains},
    {"aten::Delete.t(t[](a!) self, int idx) -> ()", &delete_item, ir::kMayRaise},
    {"aten::_set_item.t(t[](a!) l, int idx, t(b -> *) el) -> t[](a!)", &set_item, ir::kMayRaise},
    {"aten::__getitem__.t(t[](a) list, int idx) -> t(*)", &get_item, ir::kMayRaise, nullptr,
     facts(Role::kListItem)},
    {"aten::select.t(t[](a) list, int idx) -> t(*)", &get_item, ir::kMayRaise},
    {"aten::len.t(t[] a) -> int", &length, ir::kNoEffect, nullptr, facts(Role::kListLength)},
    {"aten::len.any(Any[] a) -> int", &length},
    {"aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]", &slice,
     ir::kMayRaise},
    {"aten::add_.t(t[](a!) self, t[] b) -> t[]", &extend_self},
    {"aten::add.t(t[] a, t[] b) -> t[]", &concatenate_lists},
    {"aten::mul_.t(t[](a!) l, int n) -> t[](a!)", &repeat_self},
    {"aten::mul.left_t(t[] l, int n) -> t[]", &repeat_list},
    {"aten::mul.right_(int n, t[] l) -> t[]", &repeat_list},
    {"aten::sort.int(int[](a!) self, bool reverse=False) -> ()", &sort, ir::kMayRaise},
    {"aten::sort.float(float[](a!) self, bool reverse=False) -> ()", &sort, ir::kMayRaise},
    {"aten::sort.Tensor(Tensor[](a!) self, bool reverse=False) -> ()", &sort, ir::kMayRaise},
    {"aten::sort.bool(bool[](a!) self, bool reverse=False) -> ()", &sort, ir::kMayRaise},
    {"aten::sort.str(str[](a!) self, bool reverse=False) -> ()", &sort, ir::kMayRaise},
    {"aten::sort.any(t[](a!) self, bool reverse=False) -> ()", &sort, ir::kMayRaise},
    {"aten::sorted.int(int[](a) input) -> int[]", &sorted, ir::kMayRaise},
    {"aten::sorted.float(float[](a) input) -> float[]", &sorted, ir::kMayRaise},
    {"aten::sorted.Tensor(Tensor[](a) input) -> Tensor[]", &sorted, ir::kMayRaise},
    {"aten::sorted.bool(bool[](a) input) -> bool[]", &sorted, ir::kMayRaise},
    {"aten::sorted.str(str[](a) input) -> str[]", &sorted, ir::kMayRaise},
    {"aten::sorted.any(t[](a) self) -> t[]", &sorted, ir::kMayRaise},
    {"aten::any.str(str[] self) -> bool", &any},
    {"aten::any.int(int[] self) -> bool", &any},
    {"aten::any.float(float[] self) -> bool", &any},
    {"aten::any.bool(bool[] self) -> bool", &any},
    {"aten::all.int(int[] self) -> bool", &all},
    {"aten::all.float(float[] self) -> bool", &all},
    {"aten::all.bool(bool[] self) -> bool", &all},
    {"aten::sum.int(int[] self) -> int", &sum},
    {"aten::sum.float(float[] self) -> float", &sum},
    {"aten::sum.complex(complex[] self) -> complex", &sum},
    {"aten::sum.bool(bool[] self) -> int", &sum},
    {"prim::rangelist(int n) -> int[]", &range_list},
    {"aten::__range_length(int lo, int hi, int step) -> int", &range_length, ir::kMayRaise},
    {"aten::__derive_index(int index, int start, int step) -> int", &derive_index},
};

}  // namespace

std::span<const OpRow> list_ops_rows() { return kRows; }

}  // namespace tierup::ops
