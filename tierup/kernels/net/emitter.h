// Emitter: layers to actions over numbered buffers.
//
// A value has one or more places: a buffer, and how the value lies in it. A layer asks for its
// operands in the layout it wants, and gets another place, by a reorder, where there is none.
// Buffers are ranges of one arena, the caller's tensors, or constants.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tierup/kernels/attention/attention_floats.h"
#include "tierup/kernels/gemm/gemm.h"
#include "tierup/kernels/net/algorithm_choices.h"
#include "tierup/kernels/net/compiled_net.h"
#include "tierup/kernels/net/layers.h"
#include "tierup/kernels/net/layouts.h"
#include "tierup/kernels/net/panel_convolution.h"
#include "tierup/kernels/net/weight_store.h"
#include "tierup/kernels/net/winograd.h"

namespace tierup::kernels::net {

enum class Where : uint8_t { kArena, kInput, kOutput, kConstant };

struct Buffer {
  Where where = Where::kArena;
  size_t bytes = 0;
  size_t index = 0;            // Of the net's input or output.
  size_t offset = 0;           // In the arena; set by the memory plan.
  const void* data = nullptr;  // Of a constant.
  int first = -1;              // The first and the last action that touch it.
  int last = -1;
};

// Where a value lies: in a buffer, from an offset on, in a layout of oneDNN's.
struct BufferLayout {
  memory::desc layout;
  int buffer = -1;
  size_t offset = 0;  // Bytes into the buffer.
};

struct Argument {
  int name;  // DNNL_ARG_*
  BufferLayout place;
};

// Where the buffers of one run lie.
using Bases = char* const*;
using OwnLoop = std::function<void(Bases)>;

// A oneDNN primitive, or a loop of our own.
struct Action {
  dnnl::primitive primitive;
  std::vector<Argument> arguments;
  OwnLoop loop;
  int threads = 1;  // That the primitive was made for.
};

struct Emitted {
  std::vector<Buffer> buffers;
  std::vector<Action> actions;
  std::vector<BufferLayout> outputs;
  std::vector<std::shared_ptr<char[]>> blocks;  // Constants.
  std::vector<Tensor> tensors;
  std::vector<std::string> notes;
  bool spreads_nans = false;  // A NaN may spread without being noticed (Winograd's tiles).
  // So may one that is given, over taps of zero weight (parts of transposed convolutions).
  bool spreads_given_nans = false;
};

template <typename T = float>
T* at(Bases bases, const BufferLayout& place) {
  return reinterpret_cast<T*>(bases[place.buffer] + place.offset);
}

// The f32 numbers at a plain place.
Tensor tensor_at(Bases bases, const BufferLayout& place);

// Memory for what is timed.
class TrialRoom {
 public:
  enum class Part : uint8_t { kSource, kWeights, kBias, kTarget, kScratch };
  // What was given before stays there until clear().
  char* at_least(Part part, size_t bytes);
  void clear() { outgrown_.clear(); }

 private:
  struct Block {
    std::shared_ptr<char[]> data;
    size_t bytes = 0;
  };
  std::array<Block, 5> blocks_;
  std::vector<std::shared_ptr<char[]>> outgrown_;
};

class Emitter {
 public:
  Emitter(const LayerNet& net, const CompileOptions& options, WeightStore& weights);
  Emitted run();

 private:
  // Homes (emitter.cc).
  const Value& value(int id) const { return net_.values[static_cast<size_t>(id)]; }
  int new_buffer(size_t bytes);
  int constant_buffer(const void* data, size_t bytes);
  BufferLayout fresh(const memory::desc& layout) {
    return {layout, new_buffer(layout.get_size()), 0};
  }
  void settle(int id, BufferLayout place) {
    places_[static_cast<size_t>(id)].push_back(std::move(place));
  }
  // The value in whatever layout it has; the first one it was given.
  BufferLayout any_place(int id);
  BufferLayout place_in(int id, const memory::desc& layout);
  BufferLayout plain_place(int id);
  // In the order of its first place, without gaps between the elements.
  BufferLayout gapless_place(int id);
  // Whether the layer at hand reads the value last, so that its buffer may be written over.
  bool may_overwrite(int id, const BufferLayout& place) const;
  // A place for the layer's result: the operand's own where that may be overwritten.
  BufferLayout over(int operand, const BufferLayout& place);
  void touch(const BufferLayout& place);
  void act(dnnl::primitive primitive, std::vector<Argument> arguments);
  void act(OwnLoop loop, const std::vector<BufferLayout>& places);
  void copy(const BufferLayout& from, const BufferLayout& to);
  bool copy_rows(const BufferLayout& from, const BufferLayout& to);
  bool copy_plain(const BufferLayout& from, const BufferLayout& to);
  Argument scratch(const memory::desc& layout);
  // The weights named `id` in this layout, which `fill` writes later where they are missing. It has
  // copies of what it reads.
  BufferLayout stored(int id, const memory::desc& layout, std::optional<PackedName> name,
                      WeightStore::Fill fill);
  BufferLayout constant_place(const memory::desc& layout, const std::shared_ptr<char[]>& block);
  // What names a layer's weights when they are packed so, with the numbers that this goes by.
  // Nothing for weights that this net made.
  std::optional<PackedName> packed_name(const Layer& layer, PackedForm form,
                                        const memory::desc& layout,
                                        std::vector<int64_t> numbers = {}) const;
  // What `make` makes of a layer's weight, by a reorder.
  BufferLayout packed(int id, const Layer& layer, std::function<Tensor()> make,
                      const memory::desc& wanted, const memory::desc& outer);
  BufferLayout vector_of(int id, const std::vector<float>& numbers);
  void find_last_uses();
  void finish_outputs();

  // Layers (emit_*.cc).
  void emit(const Layer& layer);
  void emit_kind(const Layer& layer);
  void choose_algorithms();
  void refusing(const Layer& layer, const std::function<void()>& work) const;
  int threads_for(const Layer& layer) const;
  void convolution(const Layer& layer);
  void product(const Layer& layer);
  // Products that loops of our own do better than primitives: few rows and a small matrix; one row
  // and a matrix that stays in the cache.
  bool is_outer_product(const Layer& layer) const;  // Of numbers and a row.
  bool is_row_product(const Layer& layer) const;
  bool is_single_row(const Layer& layer) const;
  // Bytes of weights that may stay in the largest cache from run to run: half of it.
  static int64_t most_cached();
  // Few rows and a matrix that comes from memory in each run, and that tier 0 reads as it lies.
  bool may_stay_in_place(const Layer& layer) const;
  // Whether the way to do a product is chosen by measurement.
  bool has_choice(const Layer& layer) const;
  static GemmProblem rows_problem(const Layer& layer, int64_t rows, int64_t columns,
                                  const IntVector& strides);
  void multiply_rows(const Layer& layer, const BufferLayout& weights, const IntVector& strides);
  void outer_product(const Layer& layer);
  void row_product(const Layer& layer);
  void single_row(const Layer& layer);
  void product_in_place(const Layer& layer);
  void row_epilogue(const Layer& layer, const BufferLayout& target);
  PanelConvolution product_problem(const Layer& layer) const;
  std::vector<Algorithm> product_algorithms(const Layer& layer) const;
  std::optional<Algorithm> only_product_algorithm(const Layer& layer) const;
  Algorithm product_algorithm(const Layer& layer);
  void panel_product(const Layer& layer);
  dnnl::matmul::primitive_desc describe_product(const Layer& layer, const PanelConvolution& problem,
                                                const std::optional<memory::desc>& packed_as) const;
  void onednn_product(const Layer& layer);
  void batch_product(const Layer& layer);
  void activation(const Layer& layer);
  void affine(const Layer& layer);
  // Where channels lie one after the other, each as a plane.
  bool lies_by_planes(int id);
  void affine_of_planes(const Layer& layer);
  void binary(const Layer& layer);
  // Masks that attention takes along are none of these.
  void fill(const Layer& layer);
  // Times factors that are the same along adjacent dimensions; false if they lie otherwise.
  bool spread_product(const Layer& layer, const IntVector& small);
  // The epilogue as a pass of its own over the layer's result.
  void finish_apart(const Layer& layer, const BufferLayout& target);
  // Both operands whole and alike.
  void join(const Layer& layer, const BufferLayout& left, const BufferLayout& right);
  void pool(const Layer& layer);
  void largest_of_windows_in(const Layer& layer);
  // Over all points of each channel, these innermost: see channel_loops.h.
  void over_points(const Layer& layer);
  struct PointCounts {
    int64_t batch, points, channels;
  };
  void reduce_points(const Layer& layer, const BufferLayout& source, const BufferLayout& target,
                     const PointCounts& counts);
  void over_rows(const Layer& layer);
  void function(const Layer& layer);
  // The layer's operand, row-major, and the place of its result: as many rows along the last axis.
  struct RowHomes {
    BufferLayout source, target;
    int64_t rows, width;
  };
  RowHomes row_homes(const Layer& layer);
  // Whether a layer over points reads and writes planes, and not channels innermost.
  bool stays_planar(const Layer& layer);
  void points(const Layer& layer);
  void resample(const Layer& layer);
  void group_norm(const Layer& layer);
  // Where the layer's result goes, in the layout of its operand `source`, over which it may be
  // written; see finished_rows.h.
  struct FinishedRows;
  FinishedRows finished_rows(const Layer& layer, const BufferLayout& source,
                             bool may_overwrite = true);
  // Whether the epilogue adds this input of the layer once more.
  bool is_summed_up(const Layer& layer, int input) const;
  // The epilogue over what stands in the target already.
  FinishedRows finished_in_place(const Layer& layer, const BufferLayout& target);
  void layer_norm(const Layer& layer);
  void rms_norm(const Layer& layer);
  void softmax(const Layer& layer);
  void attention(const Layer& layer);
  BufferLayout mask_place(int id);
  // How the scores of `problem` meet the mask `id`, which stands at `place`.
  AttentionMask attention_mask(const AttentionProblem& problem, const LayerMask& use, int id,
                               const BufferLayout& place) const;
  void weave(const Layer& layer);
  void view(const Layer& layer);
  void permute(const Layer& layer);
  void slice(const Layer& layer);
  memory::desc layout_of_join(const Layer& layer);
  bool lies_by_channels(const std::vector<int>& inputs);
  void cat(const Layer& layer);
  void repeat(const Layer& layer);
  void glu(const Layer& layer);

  // Epilogues as post-operations; the sum's operand lies in the result's buffer beforehand.
  dnnl::primitive_attr attributes(const Layer& layer) const;
  BufferLayout result_place(const Layer& layer, const memory::desc& layout);
  dnnl::convolution_forward::primitive_desc describe(const Layer& layer) const;
  // The same without the epilogue where oneDNN has no code of its own for that, and no padding of
  // channels that the epilogue's own pass would make other than zero.
  dnnl::convolution_forward::primitive_desc describe_apart(const Layer& layer) const;
  static bool has_epilogue(const dnnl::convolution_forward::primitive_desc& pd);
  // oneDNN's convolutions by products of blocks of a row's points: a kernel is generated for each
  // count of points in a block, 13 ms and 2.5 MB for a row of 2,752 points.
  static bool is_by_small_products(const dnnl::convolution_forward::primitive_desc& pd);
  // The convolution's weight, dense and with the normalisation's factors.
  static Tensor dense_weight(const Layer& layer);
  std::vector<Algorithm> candidates_of(const Layer& layer) const;
  // Set where there is nothing to measure.
  std::optional<Algorithm> only_algorithm(const Layer& layer);
  Algorithm algorithm_for(const Layer& layer);
  // A way to do a convolution or a product, ready to be timed (emit_trials.cc).
  struct Attempt {
    std::function<void()> run;
    const char* weights = nullptr;
    size_t weight_bytes = 0;
    bool is_reference = false;  // oneDNN's, which is no candidate where there are others.
    double price = 1;           // Its time counts so many times.
  };
  struct OwnTrial {
    float *source, *weights, *bias, *target, *scratch;
  };
  // A choice that only measurement makes: the same for all layers with this key. Several are
  // measured at once, each in one thread with a room of its own.
  struct Choice {
    AlgorithmChoices::Key key;
    std::string work;
    std::vector<Algorithm> candidates;
    std::function<Attempt(Algorithm, TrialRoom&)> attempt_by;
    // Of what is tried, by the definition; asked for where one of the candidates, and the first of
    // them, needs fewer.
    int64_t multiplications = 0;
  };
  struct Chosen {
    Algorithm algorithm;
    std::string note;
  };
  template <typename Problem>
  static OwnTrial own_trial(TrialRoom& room, const Problem& problem, int64_t weights,
                            int64_t scratch);
  // The emitter itself is changed for few channels alone: see open_choices().
  Attempt attempt(const Layer& layer, Algorithm algorithm, TrialRoom& room);
  Attempt attempt_onednn(const Layer& layer, bool swishes, TrialRoom& room) const;
  template <typename Described>
  static Attempt attempt_primitive(const Described& pd, TrialRoom& room);
  static Attempt attempt_winograd(const Winograd& problem, const std::vector<StoreStep>& steps,
                                  TrialRoom& room);
  static Attempt attempt_channels(const Layer& layer, TrialRoom& room);
  static Attempt attempt_planes(const Layer& layer, TrialRoom& room);
  static Attempt attempt_row(const Layer& layer, const PanelConvolution& part, Algorithm algorithm,
                             TrialRoom& room);
  static Attempt attempt_panels(const PanelConvolution& problem,
                                const std::vector<StoreStep>& steps, TrialRoom& room);
  static double least_direct_time(int64_t multiplications, TrialRoom& room);
  AlgorithmChoices::Key key_of(const Layer& layer, IntSpan geometry) const;
  Choice convolution_choice(const Layer& layer);
  Choice product_choice(const Layer& layer) const;
  Chosen fastest(const Choice& choice, TrialRoom& room) const;
  Algorithm measured(const Choice& choice);
  // Those that no layer before has, and the process does not know yet.
  std::vector<Choice> open_choices();
  void onednn_convolution(const Layer& layer);
  void onednn_convolution_alone(const Layer& layer,
                                const dnnl::convolution_forward::primitive_desc& pd);
  // With what it reads; gives where the result is placed, as asked when all that is read is there.
  BufferLayout act_convolution(const Layer& layer,
                               const dnnl::convolution_forward::primitive_desc& pd,
                               const std::function<BufferLayout()>& place_result);
  void winograd(const Layer& layer, Algorithm algorithm);
  void panels(const Layer& layer);
  // Each channel on its own, of an image that lies as planes, where the result leaves the net,
  // which it does as planes, or there are fewer channels than stand in a vector: with the channels
  // innermost most of its lanes are idle, points of a plane fill it.
  bool is_for_planes(const Layer& layer);
  void planes(const Layer& layer);
  void channels(const Layer& layer);
  PanelConvolution panels_of(const Layer& layer);
  // What our own convolutions read and write beside their source.
  struct OwnHomes {
    BufferLayout source, weights, bias, target, room;
  };
  void act_panels(const Layer& layer, const PanelConvolution& problem, const ConvolutionPlan& plan,
                  const OwnHomes& h);
  // How our own convolutions have their weights: see packed_name(). `pack` reads them dense;
  // `multiplies`: it takes their channels' factors, if there are any, as it packs. Else it is given
  // weights that are multiplied already.
  struct OwnWeights {
    PackedForm form;
    std::vector<int64_t> numbers;
    memory::desc layout;
    std::function<void(const float* weight, const float* factors, float* to)> pack;
    bool multiplies = false;
  };
  BufferLayout own_weights(const Layer& layer, const OwnWeights& own);
  // `source_as`: how the source is read; `room`: floats.
  OwnHomes own_homes(const Layer& layer, const memory::desc& source_as, const OwnWeights& own,
                     int64_t room);
  // Of a product: with the normalisation's factors, and with what it adds.
  static Tensor scaled_weight(const Layer& layer);
  std::vector<float> folded_bias(const Layer& layer) const;
  std::vector<float> grouped_bias(const Layer& layer) const;  // As our own convolutions read it.

  const LayerNet& net_;
  const CompileOptions& options_;
  WeightStore& weights_;
  Emitted out_;
  std::vector<std::vector<BufferLayout>> places_;
  std::vector<int> root_;      // The value whose memory a view shows.
  std::vector<int> last_use_;  // The last layer that reads a root.
  int layer_ = 0;              // At hand.
  bool stays_cached_ = true;   // All weights may stay in the cache from run to run.
};

// Places the arena's buffers so that those alive at one time do not meet; returns the arena's size.
size_t plan_memory(std::vector<Buffer>& buffers);

}  // namespace tierup::kernels::net
