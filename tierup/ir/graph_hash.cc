// Values are numbered in program order, and everything is fed as text or numbers into one
// running 64-bit hash (FNV-1a over words, finished by a mixer).
#include "tierup/ir/graph_hash.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

namespace tierup::ir {
namespace {

class Hasher {
 public:
  uint64_t graph(const Graph& graph) {
    block(graph.block());
    uint64_t h = state_;
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 33;
    return h;
  }

 private:
  void add(uint64_t word) { state_ = std::rotl((state_ ^ word) * 0x100000001b3ULL, 23); }

  void add_bytes(const void* data, size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    add(size);
    for (; size >= 8; size -= 8, bytes += 8) {
      uint64_t word = 0;
      std::memcpy(&word, bytes, 8);
      add(word);
    }
    uint64_t rest = 0;
    std::memcpy(&rest, bytes, size);
    add(rest);
  }
  void add_text(std::string_view text) { add_bytes(text.data(), text.size()); }

  void define(const Value* value) {
    numbers_.emplace(value, numbers_.size());
    add_text(value->type()->to_string());
  }
  void use(const Value* value) {
    const auto found = numbers_.find(value);
    add(found == numbers_.end() ? ~uint64_t{0} : found->second);
  }

  void block(const Block& block) {
    add(block.params().size());
    for (const Value* param : block.params()) define(param);
    for (const Node* inner : block.nodes()) node(*inner);
    add(block.returns().size());
    for (const Value* value : block.returns()) use(value);
  }

  void node(const Node& node) {
    add(static_cast<uint64_t>(node.kind()));
    if (node.op() != nullptr) add_text(node.op()->schema().qualified_name());
    add(node.inputs().size());
    for (const Value* input : node.inputs()) use(input);
    for (const auto& [name, value] : node.attrs()) {
      add(static_cast<uint64_t>(name));
      std::visit([&](const auto& held) { attribute(held); }, value);
    }
    add(node.blocks().size());
    for (const Block* inner : node.blocks()) block(*inner);
    add(node.outputs().size());
    for (const Value* output : node.outputs()) define(output);
  }

  void attribute(int64_t value) { add(static_cast<uint64_t>(value)); }
  void attribute(const std::string& value) { add_text(value); }
  void attribute(const TypePtr& value) { add_text(value->to_string()); }
  void attribute(const std::vector<TypePtr>& value) {
    add(value.size());
    for (const TypePtr& type : value) add_text(type->to_string());
  }
  void attribute(const Ref<Callable>& value) { add_text(value->name()); }
  void attribute(const std::shared_ptr<const Graph>& value) { add(Hasher().graph(*value)); }
  void attribute(const IValue& value) {
    add(static_cast<uint64_t>(value.tag()));
    switch (value.tag()) {
      case IValue::Tag::kTensor: return tensor(value.to_tensor());
      case IValue::Tag::kFloat: return number(value.to_float());
      case IValue::Tag::kObject: return add_text(value.to_object().type->name());
      case IValue::Tag::kFunction: return add_text(value.to_function().name());
      case IValue::Tag::kEnum: return add_text(value.to_enum().name);
      case IValue::Tag::kList:
        add_text(value.to_list().element->to_string());
        return items(value.to_list().items);
      case IValue::Tag::kTuple: return items(value.to_tuple().items);
      case IValue::Tag::kDict:
        for (const auto& [key, held] : value.to_dict().entries()) {
          attribute(key);
          attribute(held);
        }
        return;
      default: add_text(to_text(value));
    }
  }

  // All NaNs are one number, as in a graph's text.
  void number(double value) {
    add(std::bit_cast<uint64_t>(std::isnan(value) ? std::numeric_limits<double>::quiet_NaN()
                                                  : value));
  }

  void items(const std::vector<IValue>& list) {
    add(list.size());
    for (const IValue& item : list) attribute(item);
  }

  void tensor(const Tensor& tensor) {
    add(static_cast<uint64_t>(tensor.dtype()));
    for (const int64_t size : tensor.sizes()) add(static_cast<uint64_t>(size));
    for (const int64_t stride : tensor.strides()) add(static_cast<uint64_t>(stride));
    if (tensor.is_meta()) return;
    if (tensor.is_contiguous()) return add_bytes(tensor.raw(), tensor.bytes());
    // Element by element in index order, so that gaps between them do not count.
    const size_t size = tensor.item_size();
    IntVector index(static_cast<size_t>(tensor.dim()), 0);
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      int64_t offset = 0;
      for (size_t d = 0; d < index.size(); ++d) offset += index[d] * tensor.strides()[d];
      add_bytes(static_cast<const char*>(tensor.raw()) + offset * static_cast<int64_t>(size), size);
      for (size_t d = index.size(); d-- > 0;) {
        if (++index[d] < tensor.sizes()[d]) break;
        index[d] = 0;
      }
    }
  }

  uint64_t state_ = 0xcbf29ce484222325ULL;
  std::unordered_map<const Value*, uint64_t> numbers_;
};

}  // namespace

uint64_t graph_hash(const Graph& graph) { return Hasher().graph(graph); }

}  // namespace tierup::ir
