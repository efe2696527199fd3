// Releasing of values that hold values: a list of lists of lists, a chain of objects.
#include <exception>

#include "tierup/tensor/ivalue.h"

namespace tierup {
namespace {

bool is_container(const IValue& value) {
  return value.is_list() || value.is_tuple() || value.is_dict() || value.is_object();
}

// What containers that are being released on this thread held; null where none is.
thread_local std::vector<IValue>* waiting = nullptr;

// Releases the value, and all that goes with it, without nesting calls.
void release_flat(IValue& value) noexcept {
  if (!is_container(value)) return;
  if (waiting != nullptr) {
    try {
      waiting->push_back(std::move(value));
    } catch (const std::exception&) {  // No memory: its own destructor does it, nested.
    }
    return;
  }
  std::vector<IValue> held;
  waiting = &held;
  value = IValue();
  while (!held.empty()) {
    const IValue next = std::move(held.back());
    held.pop_back();
  }
  waiting = nullptr;
}

}  // namespace

ListValue::~ListValue() {
  for (IValue& item : items) release_flat(item);
}

TupleValue::~TupleValue() {
  for (IValue& item : items) release_flat(item);
}

DictValue::~DictValue() {
  for (auto& [key, value] : slots_) release_flat(value);
}

ObjectValue::~ObjectValue() {
  for (IValue& slot : slots) release_flat(slot);
}

}  // namespace tierup
