// Parts of recorded programs that are compiled together with their backward passes: against tier 0,
// to the bit.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <cmath>

#include "tierup/autodiff/node.h"
#include "tierup/autodiff/recording_tape.h"
#include "tierup/base/error.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/tensor/allocator.h"
#include "tierup/tier/tiered_graph_fixture.h"

namespace tierup::tier {
namespace {

using Floats = std::vector<float>;

// d = tanh(a * b); e = d * d + a; (e, d): d is read again, and leaves.
constexpr const char* kTwoResults = R"(graph @main(%a : Tensor, %b : Tensor) {
  %one : int = prim::Constant[value=1]()
  %c : Tensor = aten::mul.Tensor(%a, %b)
  %d : Tensor = aten::tanh(%c)
  %f : Tensor = aten::mul.Tensor(%d, %d)
  %e : Tensor = aten::add.Tensor(%f, %a, %one)
  %r : Tuple[Tensor, Tensor] = prim::TupleConstruct(%e, %d)
  return (%r)
})";

// q reads the tangent alone, p reads both inputs.
constexpr const char* kReaders = R"(graph @main(%a : Tensor, %b : Tensor) {
  %t : Tensor = aten::tanh(%a)
  %q : Tensor = aten::mul.Tensor(%t, %t)
  %p : Tensor = aten::mul.Tensor(%a, %b)
  %r : Tuple[Tensor, Tensor] = prim::TupleConstruct(%q, %p)
  return (%r)
})";

// A loop of %n trips around a product, b broadcast, and a view of the result.
constexpr const char* kLoop = R"(graph @main(%a : Tensor, %b : Tensor, %n : int) {
  %true : bool = prim::Constant[value=True]()
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %h : Tensor = prim::Loop(%n, %true, %a)
    block0(%i : int, %x : Tensor):
      %y : Tensor = aten::mul.Tensor(%x, %b)
      %z : Tensor = aten::sigmoid(%y)
      -> (%true, %z)
  %s : Tensor = aten::add.Tensor(%h, %a, %one)
  %v : Tensor = aten::unsqueeze(%s, %zero)
  return (%v)
})";

// The gates of a cell as PyTorch traces them: parts of one product, each written in place.
constexpr const char* kGates = R"(graph @main(%x : Tensor, %w : Tensor, %h : Tensor) {
  %one : int = prim::Constant[value=1]()
  %three : int = prim::Constant[value=3]()
  %g : Tensor = aten::mm(%x, %w)
  %parts : List[Tensor] = aten::unsafe_chunk(%g, %three, %one)
  %p : Tensor, %q : Tensor, %s : Tensor = prim::ListUnpack(%parts)
  %r : Tensor = aten::sigmoid_(%p)
  %z : Tensor = aten::sigmoid_(%q)
  %m : Tensor = aten::mul.Tensor(%s, %r)
  %n : Tensor = aten::tanh_(%m)
  %d : Tensor = aten::sub.Tensor(%h, %n, %one)
  %e : Tensor = aten::mul_.Tensor(%d, %z)
  %y : Tensor = aten::add_.Tensor(%e, %n, %one)
  return (%y)
})";

// A product with one weight in each of %n trips: its gradient is a sum of products.
constexpr const char* kProducts = R"(graph @main(%a : Tensor, %w : Tensor, %n : int) {
  %true : bool = prim::Constant[value=True]()
  %h : Tensor = prim::Loop(%n, %true, %a)
    block0(%i : int, %x : Tensor):
      %y : Tensor = aten::mm(%x, %w)
      %z : Tensor = aten::tanh(%y)
      -> (%true, %z)
  return (%h)
})";

// A recurrent cell over the entries of a slice of the whole: %xs[:, i].
constexpr const char* kRecurrent =
    R"(graph @main(%xs : Tensor, %w : Tensor, %u : Tensor, %b : Tensor, %h0 : Tensor, %n : int) {
  %true : bool = prim::Constant[value=True]()
  %none : NoneType = prim::Constant[value=None]()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %h : Tensor = prim::Loop(%n, %true, %h0)
    block0(%i : int, %g : Tensor):
      %all : Tensor = aten::slice.Tensor(%xs, %zero, %none, %none, %one)
      %x : Tensor = aten::select.int(%all, %one, %i)
      %y : Tensor = aten::linear(%x, %w, %b)
      %z : Tensor = aten::linear(%g, %u, %b)
      %s : Tensor = aten::add.Tensor(%y, %z, %one)
      %t : Tensor = aten::tanh(%s)
      -> (%true, %t)
  return (%h)
})";

// How many there are depends on values.
constexpr const char* kSelected = R"(graph @main(%a : Tensor, %b : Tensor) {
  %dtype : NoneType = prim::Constant[value=None]()
  %m : Tensor = aten::masked_select(%b, %a)
  %s : Tensor = aten::tanh(%m)
  %t : Tensor = aten::exp(%s)
  %r : Tensor = aten::sum(%t, %dtype)
  return (%r)
})";

class DifferentiableGraphs : public TieredGraphFixture {
 protected:
  IValue recorded(std::vector<IValue> args) {
    ops::RunContext context;
    const Ref<kernels::Generator> generator = make_ref<kernels::Generator>();
    context.generator = generator.get();
    context.policy.grad_mode = true;
    context.tape = &tape_;
    const Ref<const runtime::RunState> state(make_ref<runtime::RunState>().get());
    return graph_->run(args, context, state);
  }

  static Tensor leaf(IntVector sizes, float begin) {
    const Tensor tensor = Tensor::empty(sizes, ScalarType::kFloat);
    for (int64_t i = 0; i < tensor.numel(); ++i)
      tensor.data<float>()[i] = begin + 0.37F * static_cast<float>(i % 7) - 0.11F;
    tensor.set_requires_grad(true);
    return tensor;
  }

  static Floats numbers(const Tensor& tensor) {
    if (!tensor.defined()) return {};
    const Tensor dense = kernels::contiguous(tensor);
    return {dense.data<float>(), dense.data<float>() + dense.numel()};
  }

  // Gradients of `inputs` for cotangents of 2, 3, ... for each output; undefined where none is.
  std::vector<Tensor> gradients(const std::vector<Tensor>& outputs,
                                const std::vector<Tensor>& inputs, bool create = false,
                                bool retain = false) {
    ops::BackwardRequest request;
    float value = 2;
    for (const Tensor& output : outputs) {
      request.outputs.push_back(output);
      request.cotangents.push_back(filled(IntVector(output.impl()->sizes), value).to_tensor());
      value += 1;
    }
    request.inputs = inputs;
    request.create_graph = create;
    if (retain) request.retain_graph = true;
    request.allow_unused = true;
    ops::RunContext context;
    context.policy.grad_mode = true;
    context.tape = &tape_;
    const Ref<kernels::Generator> generator = make_ref<kernels::Generator>();
    context.generator = generator.get();
    return tape_.grad(context, request);
  }

  std::vector<Floats> all_numbers(const std::vector<Tensor>& tensors) {
    std::vector<Floats> all;
    for (const Tensor& tensor : tensors) all.push_back(numbers(tensor));
    return all;
  }

  ops::StepReport part() const {
    for (const PlanReport& plan : graph_->report().plans) {
      for (const ops::StepReport& step : plan.compiled_steps) {
        if (step.kind == "differentiable graph") return step;
      }
    }
    return {};
  }

  std::string all_notes() const {
    std::string all;
    for (const PlanReport& plan : graph_->report().plans) {
      for (const RegionReport& region : plan.regions) {
        for (const std::string& note : region.notes) all += note + "\n";
      }
    }
    return all;
  }

  autodiff::RecordingTape tape_;
};

constexpr const char* kBlocking = "compile=blocking,profiled_runs=1";

TEST_F(DifferentiableGraphs, gives_tier_0s_results_and_gradients_to_the_bit) {
  const auto run = [&](const char* options) {
    make(options);
    std::vector<Floats> seen;
    for (int call = 0; call < 4; ++call) {
      const Tensor a = leaf({3, 5}, 0.2F);
      const Tensor b = leaf({5}, 0.4F + 0.1F * static_cast<float>(call));
      const Tensor y = recorded({a, b}).to_tensor();
      EXPECT_TRUE(y.requires_grad());
      seen.push_back(numbers(y));
      for (Floats& gradient : all_numbers(gradients({y}, {a, b}))) seen.push_back(gradient);
    }
    return seen;
  };
  const auto expected = run("compile=off");
  EXPECT_EQ(run(kBlocking), expected);
  EXPECT_EQ(part().compiled_calls, 4U);
  EXPECT_EQ(run("compile=background,profiled_runs=1"), expected);
}

TEST_F(DifferentiableGraphs, sums_products_as_tier_0_does_to_the_bit) {
  // Rows that wait for one product: of some trips, of all, and of one alone.
  for (const int64_t rows : {1, 3, 40}) {
    const auto run = [&](const char* options) {
      make(options, kProducts);
      std::vector<Floats> seen;
      for (int call = 0; call < 4; ++call) {
        const Tensor a = leaf({rows, 24}, 0.02F * static_cast<float>(call));
        const Tensor w = leaf({24, 24}, -0.9F);
        const Tensor y = recorded({a, w, int64_t{9}}).to_tensor();
        seen.push_back(numbers(y));
        for (Floats& gradient : all_numbers(gradients({y}, {a, w}))) seen.push_back(gradient);
      }
      return seen;
    };
    const auto expected = run("compile=off");
    EXPECT_EQ(run(kBlocking), expected) << rows;
    EXPECT_EQ(part().compiled_calls, 4U);
    EXPECT_EQ(run("compile=background,profiled_runs=1"), expected) << rows;
  }
}

// One product of all entries, one copy of the other matrix: where either rounds otherwise on this
// machine it is left, so bits are tier 0's whatever the sizes.
TEST_F(DifferentiableGraphs, joins_the_products_of_a_recurrent_loop_to_the_bit) {
  for (const auto& [rows, width] :
       {std::pair<int64_t, int64_t>{4, 8}, {4, 33}, {4, 128}, {2, 512}, {17, 300}}) {
    const auto run = [&](const char* options) {
      make(options, kRecurrent);
      std::vector<Floats> seen;
      for (int call = 0; call < 3; ++call) {
        const std::vector<Tensor> leaves{leaf({rows, 6, width}, 0.02F * static_cast<float>(call)),
                                         leaf({width, width}, -0.9F), leaf({width, width}, -0.8F),
                                         leaf({width}, 0.1F), leaf({rows, width}, 0.3F)};
        std::vector<IValue> args(leaves.begin(), leaves.end());
        args.emplace_back(int64_t{6});
        const Tensor y = recorded(args).to_tensor();
        seen.push_back(numbers(y));
        for (Floats& gradient : all_numbers(gradients({y}, leaves))) seen.push_back(gradient);
      }
      return seen;
    };
    const auto expected = run("compile=off");
    EXPECT_EQ(run(kBlocking), expected) << width;
    EXPECT_EQ(part().compiled_calls, 3U);
    // Five calls a trip: slices of the whole are none.
    EXPECT_THAT(all_notes(), testing::HasSubstr("forward: 30 calls")) << width;
  }
}

TEST_F(DifferentiableGraphs, outlives_writes_to_its_inputs) {
  make(kBlocking);
  const Tensor a = leaf({4}, 0.2F);
  const Tensor b = leaf({4}, 0.5F);
  for (int step = 0; step < 3; ++step) {
    const Tensor y = recorded({a, b}).to_tensor();
    const std::vector<Tensor> given = gradients({y}, {a, b});
    // d/da of a*b*b + a*b*b*b: 2 (b*b + b*b*b).
    for (int64_t i = 0; i < 4; ++i) {
      const float x = b.data<float>()[i];
      EXPECT_NEAR(given[0].data<float>()[i], 2 * (x * x + x * x * x), 1e-5F);
    }
    for (int64_t i = 0; i < 4; ++i) b.data<float>()[i] += 0.25F;
    b.bump_version();
  }
  EXPECT_EQ(part().compiled_calls, 3U);
  EXPECT_EQ(graph_->report().plans.size(), 1U);
}

// The parts of an unsafe split are no views: what is saved of one outlives writes to the others.
TEST_F(DifferentiableGraphs, pass_back_through_parts_that_are_each_written) {
  const auto run = [&](const char* options) {
    make(options, kGates);
    std::vector<Floats> seen;
    for (int call = 0; call < 4; ++call) {
      const Tensor x = leaf({2, 4}, 0.2F);
      const Tensor w = leaf({4, 9}, 0.1F + 0.1F * static_cast<float>(call));
      const Tensor h = leaf({2, 3}, 0.3F);
      const Tensor y = recorded({x, w, h}).to_tensor();
      seen.push_back(numbers(y));
      for (Floats& gradient : all_numbers(gradients({y}, {x, w, h}))) seen.push_back(gradient);
    }
    return seen;
  };
  const auto expected = run("compile=off");
  EXPECT_EQ(run(kBlocking), expected);
}

TEST_F(DifferentiableGraphs, refuses_a_saved_value_that_was_written) {
  make(kBlocking);
  const Tensor a = leaf({4}, 0.2F);
  const Tensor b = leaf({4}, 0.5F);
  const Tensor y = recorded({a, b}).to_tensor();
  b.bump_version();
  try {
    gradients({y}, {a, b});
    FAIL() << "a stale value was read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("modified by an inplace operation"),
              std::string::npos);
  }
}

TEST_F(DifferentiableGraphs, frees_what_it_saved) {
  make(kBlocking);
  const Tensor a = leaf({4}, 0.2F);
  const Tensor b = leaf({4}, 0.5F);
  const Tensor y = recorded({a, b}).to_tensor();
  const auto once = all_numbers(gradients({y}, {a, b}, false, true));
  EXPECT_EQ(all_numbers(gradients({y}, {a, b})), once);
  EXPECT_THROW(gradients({y}, {a, b}), Error);
}

// One of the two results is also what the pass back would read.
// Of a chain: when the last step's gradient comes, what the first steps read is all that is left.
TEST_F(DifferentiableGraphs, frees_what_it_saved_while_the_pass_goes_on) {
  constexpr size_t kSteps = 8;
  std::string params = "%x0 : Tensor";
  std::string body;
  for (size_t i = 0; i < kSteps; ++i) {
    params += fmt::format(", %w{} : Tensor", i);
    body += fmt::format("  %p{0} : Tensor = aten::mul.Tensor(%x{0}, %w{0})\n", i);
    body += fmt::format("  %x{1} : Tensor = aten::sigmoid(%p{0})\n", i, i + 1);
  }
  const std::string text =
      fmt::format("graph @main({}) {{\n{}  return (%x{})\n}}", params, body, kSteps);
  make("compile=blocking,profiled_runs=1,fusion=off", text.c_str());
  const IntVector sizes{1 << 16};
  std::vector<Tensor> leaves;
  for (size_t i = 0; i <= kSteps; ++i) leaves.push_back(leaf(sizes, 0.3F));
  for (const bool retain : {false, true}) {
    const Tensor y = recorded({leaves.begin(), leaves.end()}).to_tensor();
    const int64_t before = allocator_stats().live_bytes;
    reset_peak();
    gradients({y}, leaves, false, retain);
    const int64_t risen = allocator_stats().peak_bytes - before;
    const auto tensor = static_cast<int64_t>(leaves[0].bytes());
    // The gradients take the place of what was saved.
    EXPECT_EQ(risen < 6 * tensor, !retain) << risen << " bytes";
  }
  EXPECT_EQ(part().compiled_calls, 2U);
}

TEST_F(DifferentiableGraphs, are_freed_with_results_from_which_nobody_passes_back) {
  make(kBlocking, kTwoResults);
  const Tensor a = leaf({4096}, 0.2F);
  const Tensor b = leaf({4096}, 0.4F);
  for (int call = 0; call < 3; ++call) recorded({a, b});
  ASSERT_GE(part().compiled_calls, 1U);
  const int64_t before = allocator_stats().live_bytes;
  for (int call = 0; call < 8; ++call) recorded({a, b});
  EXPECT_EQ(allocator_stats().live_bytes, before);
}

TEST_F(DifferentiableGraphs, answers_for_some_of_its_results) {
  const auto run = [&](const char* options) {
    make(options, kTwoResults);
    std::vector<Floats> seen;
    for (const int which : {2, 0, 1, 1, 1, 0, 2}) {
      const Tensor a = leaf({3, 5}, 0.2F);
      const Tensor b = leaf({5}, 0.4F);
      const IValue made = recorded({a, b});
      const auto& results = made.to_tuple().items;
      std::vector<Tensor> outputs;
      for (int k = 0; k < 2; ++k) {
        if (which == 2 || which == k)
          outputs.push_back(results[static_cast<size_t>(k)].to_tensor());
      }
      for (Floats& gradient : all_numbers(gradients(outputs, {a, b}))) seen.push_back(gradient);
    }
    return seen;
  };
  EXPECT_EQ(run(kBlocking), run("compile=off"));
}

TEST_F(DifferentiableGraphs, answer_for_a_result_that_reads_none_of_the_overwritten_inputs) {
  const auto run = [&](const char* options) {
    make(options, kReaders);
    std::vector<Floats> seen;
    for (int call = 0; call < 3; ++call) {
      const Tensor a = leaf({3, 5}, 0.2F);
      const Tensor b = leaf({5}, 0.4F);
      const IValue made = recorded({a, b});
      a.bump_version();
      const Tensor square = made.to_tuple().items[0].to_tensor();
      const std::vector<Tensor> given = gradients({square}, {a, b});
      EXPECT_FALSE(given[1].defined());
      seen.push_back(numbers(given[0]));
      if (call == 2) {
        EXPECT_THROW(gradients({made.to_tuple().items[1].to_tensor()}, {a, b}), Error);
      }
    }
    return seen;
  };
  EXPECT_EQ(run(kBlocking), run("compile=off"));
}

TEST_F(DifferentiableGraphs, gives_second_derivatives) {
  const auto run = [&](const char* options) {
    make(options, kTwoResults);
    std::vector<Floats> seen;
    for (int call = 0; call < 2; ++call) {
      const Tensor a = leaf({3, 5}, 0.2F);
      const Tensor b = leaf({5}, 0.4F);
      const IValue made = recorded({a, b});
      const std::vector<Tensor> first =
          gradients({made.to_tuple().items[0].to_tensor()}, {a, b}, true);
      for (Floats& gradient : all_numbers(first)) seen.push_back(gradient);
      for (Floats& gradient : all_numbers(gradients(first, {a, b}))) seen.push_back(gradient);
    }
    return seen;
  };
  EXPECT_EQ(run(kBlocking), run("compile=off"));
}

TEST_F(DifferentiableGraphs, writes_loops_out_and_leaves_views_outside) {
  const auto run = [&](const char* options) {
    make(options, kLoop);
    std::vector<Floats> seen;
    for (const int64_t trips : {3, 0, 5, 3}) {
      const Tensor a = leaf({3, 5}, 0.2F);
      const Tensor b = leaf({5}, 0.4F);
      const Tensor y = recorded({a, b, trips}).to_tensor();
      seen.push_back(numbers(y));
      for (Floats& gradient : all_numbers(gradients({y}, {a, b}))) seen.push_back(gradient);
    }
    return seen;
  };
  const std::vector<Floats> expected = run("compile=off");
  EXPECT_EQ(run(kBlocking), expected);
  EXPECT_EQ(part().compiled_calls, 4U);
}

TEST_F(DifferentiableGraphs, trusts_no_sizes_that_depend_on_values) {
  const auto run = [&](const char* options) {
    make(options, kSelected);
    std::vector<Floats> seen;
    for (int call = 0; call < 3; ++call) {
      const Tensor mask = filled({6}, 0, ScalarType::kBool).to_tensor();
      for (int i = 0; i <= call; ++i) mask.data<bool>()[i] = true;
      const Tensor b = leaf({6}, 0.4F);
      const Tensor y = recorded({mask, b}).to_tensor();
      for (Floats& gradient : all_numbers(gradients({y}, {b}))) seen.push_back(gradient);
    }
    return seen;
  };
  EXPECT_EQ(run(kBlocking), run("compile=off"));
}

TEST_F(DifferentiableGraphs, looks_at_flags_and_sizes) {
  make(kBlocking);
  const Tensor a = leaf({4}, 0.2F);
  const Tensor b = leaf({4}, 0.5F);
  recorded({a, b});
  b.set_requires_grad(false);
  const Tensor y = recorded({a, b}).to_tensor();
  EXPECT_TRUE(y.requires_grad());
  a.set_requires_grad(false);
  EXPECT_FALSE(recorded({a, b}).to_tensor().requires_grad());
  EXPECT_FALSE(call({a, b}).to_tensor().requires_grad());
}

// Each job takes half a second: a step that waited for one, be it the plan or a part's for a new
// batch size, would leave the calls before it few.
TEST_F(DifferentiableGraphs, no_step_waits_for_a_job_also_at_new_batch_sizes) {
  constexpr int kFew = 10;
  make("compile=background,profiled_runs=1,compile_delay_ms=500");
  for (const int64_t rows : {3, 8, 21}) {
    const uint64_t compiled = part().compiled_calls;
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    int steps = 0;
    while (part().compiled_calls == compiled && std::chrono::steady_clock::now() < end) {
      const Tensor a = leaf({rows, 5}, 0.2F);
      const Tensor b = leaf({5}, 0.4F);
      gradients({recorded({a, b}).to_tensor()}, {a, b});
      ++steps;
    }
    EXPECT_GT(part().compiled_calls, compiled) << rows;
    EXPECT_GT(steps, kFew) << rows;
  }
}

}  // namespace
}  // namespace tierup::tier
