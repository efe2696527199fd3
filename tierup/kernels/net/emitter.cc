#include "tierup/kernels/net/emitter.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <unordered_set>

#include "tierup/base/machine.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/spare_pages.h"
#include "tierup/kernels/onednn/onednn_engine.h"

namespace tierup::kernels::net {

Tensor tensor_at(Bases bases, const BufferLayout& place) {
  const auto storage = Storage::borrow(at(bases, place), place.layout.get_size(), nullptr);
  return Tensor::from_storage(storage, ScalarType::kFloat, sizes_of(place.layout),
                              strides_of(place.layout), 0);
}

Emitter::Emitter(const LayerNet& net, const CompileOptions& options, WeightStore& weights)
    : net_(net), options_(options), weights_(weights), places_(net.values.size()) {}

int64_t Emitter::most_cached() {
  constexpr int64_t kMostOfShared = 16 << 20;  // Of a cache that others share, some megabytes.
  return std::min(kMostOfShared, cache_sizes().last_level / 2);
}

Emitted Emitter::run() {
  for (const auto& [index, id] : net_.inputs) {
    const Value& input = value(id);
    Buffer buffer;
    buffer.where = Where::kInput;
    buffer.index = index;
    out_.buffers.push_back(buffer);
    settle(id, {row_major(input.sizes, input.dtype), static_cast<int>(out_.buffers.size()) - 1, 0});
  }
  find_last_uses();
  int64_t weights = 0;
  std::unordered_set<const void*> counted;  // The steps of a loop read the same.
  for (const Layer& layer : net_.layers) {
    const bool is_new = layer.weight.defined() && counted.insert(layer.weight.raw()).second;
    weights += is_new ? layer.weight.numel() : 0;
  }
  stays_cached_ = weights * static_cast<int64_t>(sizeof(float)) <= most_cached();
  choose_algorithms();
  // What is pending is nobody's once this emitter has gone.
  const std::unique_ptr<WeightStore, void (*)(WeightStore*)> pending(
      &weights_, [](WeightStore* weights) { weights->drop_pending(); });
  for (const Layer& layer : net_.layers) {
    refusing(layer, [&] { emit(layer); });
    ++layer_;
  }
  weights_.fill_pending();
  finish_outputs();
  return std::move(out_);
}

// What fails refuses the layer.
void Emitter::refusing(const Layer& layer, const std::function<void()>& work) const {
  try {
    work();
  } catch (const dnnl::error& error) {
    throw Refused(operation_of(layer), NetRefusal::kNotTaken,
                  fmt::format("oneDNN has no primitive: {}", error.what()));
  } catch (const NotCompiled& error) {
    throw Refused(operation_of(layer), error.reason());
  } catch (const Error& error) {
    throw Refused(operation_of(layer), NetRefusal::kNotTaken, error.message());
  }
}

// Views share their operand's memory, so reads of them are reads of the root.
void Emitter::find_last_uses() {
  const size_t count = net_.values.size();
  root_.resize(count);
  for (size_t i = 0; i < count; ++i) root_[i] = static_cast<int>(i);
  last_use_.assign(count, -1);
  const auto use = [&](int id, int layer) {
    int& last = last_use_[static_cast<size_t>(root_[static_cast<size_t>(id)])];
    last = std::max(last, layer);
  };
  int index = 0;
  for (const Layer& layer : net_.layers) {
    for (const int input : layer.inputs) use(input, index);
    for (const Epilogue& e : layer.epilogue) {
      if (e.summand >= 0) use(e.summand, index);
    }
    if (is_view(layer)) {
      root_[static_cast<size_t>(layer.output)] = root_[static_cast<size_t>(layer.inputs[0])];
    }
    ++index;
  }
  for (const int output : net_.outputs) use(output, INT_MAX);
}

int Emitter::new_buffer(size_t bytes) {
  Buffer buffer;
  buffer.bytes = bytes;
  out_.buffers.push_back(buffer);
  return static_cast<int>(out_.buffers.size()) - 1;
}

int Emitter::constant_buffer(const void* data, size_t bytes) {
  Buffer buffer;
  buffer.where = Where::kConstant;
  buffer.bytes = bytes;
  buffer.data = data;
  out_.buffers.push_back(buffer);
  return static_cast<int>(out_.buffers.size()) - 1;
}

BufferLayout Emitter::any_place(int id) {
  auto& places = places_[static_cast<size_t>(id)];
  if (places.empty()) {
    TIERUP_CHECK(value(id).constant.defined());
    const Tensor dense = clone(value(id).constant, MemoryFormat::kContiguous);
    out_.tensors.push_back(dense);
    settle(id, {row_major(dense.sizes(), dense.dtype()),
                constant_buffer(dense.raw(), dense.bytes()), 0});
  }
  return places.front();
}

BufferLayout Emitter::place_in(int id, const memory::desc& layout) {
  const BufferLayout first = any_place(id);
  for (const BufferLayout& place : places_[static_cast<size_t>(id)]) {
    if (same_layout(place.layout, layout)) return {layout, place.buffer, place.offset};
  }
  const BufferLayout moved = fresh(layout);
  copy(first, moved);
  settle(id, moved);
  return moved;
}

BufferLayout Emitter::plain_place(int id) {
  any_place(id);
  for (const BufferLayout& place : places_[static_cast<size_t>(id)]) {
    if (is_plain(place.layout)) return place;
  }
  const IntVector& sizes = value(id).sizes;
  return place_in(id, sizes.size() > 2 ? channels_last(sizes) : row_major(sizes));
}

BufferLayout Emitter::gapless_place(int id) {
  return place_in(id, dense_like(any_place(id).layout));
}

bool Emitter::may_overwrite(int id, const BufferLayout& place) const {
  const Buffer& buffer = out_.buffers[static_cast<size_t>(place.buffer)];
  return buffer.where == Where::kArena &&
         last_use_[static_cast<size_t>(root_[static_cast<size_t>(id)])] <= layer_;
}

BufferLayout Emitter::over(int operand, const BufferLayout& place) {
  return may_overwrite(operand, place) ? place : fresh(place.layout);
}

void Emitter::touch(const BufferLayout& place) {
  Buffer& buffer = out_.buffers[static_cast<size_t>(place.buffer)];
  const int now = static_cast<int>(out_.actions.size());
  if (buffer.first < 0) buffer.first = now;
  buffer.last = now;
}

void Emitter::act(dnnl::primitive primitive, std::vector<Argument> arguments) {
  for (const Argument& argument : arguments) touch(argument.place);
  out_.actions.push_back({std::move(primitive), std::move(arguments), nullptr, intra_op_threads()});
}

void Emitter::act(OwnLoop loop, const std::vector<BufferLayout>& places) {
  for (const BufferLayout& place : places) touch(place);
  out_.actions.push_back({{}, {}, std::move(loop), 1});
}

// A call of oneDNN's takes longer than copying a few kilobytes, or rows that fill lines of the
// cache.
bool Emitter::copy_rows(const BufferLayout& from, const BufferLayout& to) {
  constexpr int64_t kMostElements = 8192;
  constexpr int64_t kLongRow = 16;
  const auto rows = rows_of(from.layout, to.layout);
  if (!rows || (rows->count * rows->width > kMostElements && rows->width < kLongRow) ||
      from.layout.data_type() != memory::data_type::f32 ||
      to.layout.data_type() != memory::data_type::f32) {
    return false;
  }
  act(
      [=, rows = *rows](Bases bases) {
        parallel_for(0, rows.count, grain_of(rows.width), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const float* row = at(bases, from) + i * rows.from_stride;
            std::copy(row, row + rows.width, at(bases, to) + i * rows.to_stride);
          }
        });
      },
      {from, to});
  return true;
}

// Matrices and sequences between plain layouts: oneDNN has one thread turn those of a batch. Images
// it turns well.
bool Emitter::copy_plain(const BufferLayout& from, const BufferLayout& to) {
  constexpr int kMostDims = 3;
  const auto fits = [](const memory::desc& layout) {
    return is_plain(layout) && layout.data.ndims <= kMostDims &&
           layout.data_type() == memory::data_type::f32;
  };
  if (!fits(from.layout) || !fits(to.layout)) return false;
  act([=](Bases bases) { copy_into(tensor_at(bases, to), tensor_at(bases, from)); }, {from, to});
  return true;
}

void Emitter::copy(const BufferLayout& from, const BufferLayout& to) {
  if (copy_rows(from, to) || copy_plain(from, to)) return;
  const ThreadCountScope threads(threads_worth(0, numel_of(sizes_of(to.layout))));
  const auto& engine = onednn_engine();
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::reorder::primitive_desc pd(engine, from.layout, engine, to.layout, attributes);
  act(dnnl::reorder(pd), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, scratch(pd.scratchpad_desc())});
}

Argument Emitter::scratch(const memory::desc& layout) {
  return {DNNL_ARG_SCRATCHPAD, {layout, new_buffer(layout.get_size()), 0}};
}

BufferLayout Emitter::constant_place(const memory::desc& layout,
                                     const std::shared_ptr<char[]>& block) {
  out_.blocks.push_back(block);
  return {layout, constant_buffer(block.get(), layout.get_size()), 0};
}

BufferLayout Emitter::stored(int id, const memory::desc& layout, std::optional<PackedName> name,
                             WeightStore::Fill fill) {
  return constant_place(layout, weights_.get_later(id, layout, std::move(name), std::move(fill)));
}

std::optional<PackedName> Emitter::packed_name(const Layer& layer, PackedForm form,
                                               const memory::desc& layout,
                                               std::vector<int64_t> numbers) const {
  if (!std::ranges::binary_search(net_.constants, layer.weight.storage().get()))
    return std::nullopt;
  numbers.push_back(static_cast<int64_t>(form));
  return PackedName(layer.weight, std::move(numbers), layout, layer.scale);
}

BufferLayout Emitter::packed(int id, const Layer& layer, std::function<Tensor()> make,
                             const memory::desc& wanted, const memory::desc& outer) {
  auto fill = [make = std::move(make), weight = layer.weight, wanted, outer](char* to) {
    const Tensor made = make();
    memory from(outer, onednn_engine(), made.raw());
    memory target(wanted, onednn_engine(), to);
    dnnl::reorder(from, target).execute(onednn_stream(), from, target);
    onednn_stream().wait();
    return give_back_pages(weight);
  };
  auto name = packed_name(layer, PackedForm::kReordered, wanted, {layer.conv.transposed ? 1 : 0});
  return stored(id, wanted, std::move(name), std::move(fill));
}

BufferLayout Emitter::vector_of(int id, const std::vector<float>& numbers) {
  const auto count = static_cast<int64_t>(numbers.size());
  const memory::desc layout = row_major(IntVector{count});
  const auto fill = [&](char* to) {
    std::memcpy(to, numbers.data(), numbers.size() * sizeof(float));
    return SpareWeight();
  };
  return constant_place(layout, weights_.get(id, layout, fill));
}

// An output is written where the caller wants it if its buffer holds nothing else.
void Emitter::finish_outputs() {
  size_t index = 0;
  for (const int id : net_.outputs) {
    const Value& output = value(id);
    const IntVector* strides =
        index < options_.output_strides.size() ? &options_.output_strides[index] : nullptr;
    const memory::desc wanted = strides == nullptr || strides->empty()
                                    ? row_major(output.sizes)
                                    : strided(output.sizes, *strides);
    BufferLayout place = place_in(id, wanted);
    const bool is_own = out_.buffers[static_cast<size_t>(place.buffer)].where == Where::kArena &&
                        place.offset == 0 &&
                        out_.buffers[static_cast<size_t>(place.buffer)].bytes == wanted.get_size();
    if (!is_own) {
      const BufferLayout apart = fresh(wanted);
      copy(place, apart);
      place = apart;
    }
    Buffer& buffer = out_.buffers[static_cast<size_t>(place.buffer)];
    buffer.where = Where::kOutput;
    buffer.index = index++;
    place.layout = wanted;
    out_.outputs.push_back(place);
  }
}

size_t plan_memory(std::vector<Buffer>& buffers) {
  std::vector<Buffer*> order;
  for (Buffer& buffer : buffers) {
    if (buffer.where == Where::kArena && buffer.first >= 0 && buffer.bytes > 0)
      order.push_back(&buffer);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Buffer* a, const Buffer* b) { return a->bytes > b->bytes; });
  std::vector<const Buffer*> placed;
  size_t total = 0;
  for (Buffer* buffer : order) {
    size_t offset = 0;
    const auto in_the_way = [&](const Buffer* other) {
      return other->first <= buffer->last && buffer->first <= other->last &&
             other->offset < offset + buffer->bytes && offset < other->offset + other->bytes;
    };
    for (auto other = std::find_if(placed.begin(), placed.end(), in_the_way); other != placed.end();
         other = std::find_if(placed.begin(), placed.end(), in_the_way)) {
      offset = ((*other)->offset + (*other)->bytes + 63) / 64 * 64;
    }
    buffer->offset = offset;
    total = std::max(total, offset + buffer->bytes);
    placed.push_back(buffer);
  }
  return total;
}

}  // namespace tierup::kernels::net
