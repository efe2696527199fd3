// Forks of programs, and branches of graphs that run as forks.
#include <regex>

#include "tierup/runtime/runtime_fixture.h"

namespace tierup::runtime {
namespace {

constexpr const char* kForkTwoNaps = R"(graph @main(%n : int) {
    %a : Future[int] = prim::fork[callee=graph @body(%m : int) {
      %r : int = test::nap(%m)
      return (%r)
    }](%n)
    %b : Future[int] = prim::fork[callee=graph @body(%m : int) {
      %r : int = test::nap(%m)
      return (%r)
    }](%n)
    %x : int = prim::wait(%a)
    %y : int = prim::wait(%b)
    %s : int = test::add(%x, %y)
    return (%s)
  })";

// The graph with meetings for naps: only steps that run at the same time give 1 each.
std::string with_meetings(const char* graph) {
  return std::regex_replace(graph, std::regex("test::nap"), "test::meet");
}

TEST_F(RuntimeTest, forks_of_pure_code_run_at_the_same_time) {
  testing_rows::Meeting meeting;
  EXPECT_EQ(run(with_meetings(kForkTwoNaps), {meeting.address()}).to_int(), 2);
}

// A branch, as passes/fork_branches makes it, in a plan that also writes.
constexpr const char* kBranch = R"(graph @main(%list : List[int], %n : int) {
    %l2 : List[int] = test::append(%list, %n)
    %a : Future[int] = prim::fork[callee=graph @branch(%m : int) {
      %r : int = test::nap(%m)
      return (%r)
    }, name="branch"](%n)
    %y : int = test::nap(%n)
    %x : int = prim::wait(%a)
    %s : int = test::add(%x, %y)
    return (%s)
  })";

TEST_F(RuntimeTest, branches_run_at_the_same_time_also_beside_writes) {
  testing_rows::Meeting meeting;
  EXPECT_EQ(run(with_meetings(kBranch), {IValue(make_int_list({})), meeting.address()}).to_int(),
            2);
}

TEST_F(RuntimeTest, branches_run_at_once_where_no_thread_is_free) {
  std::vector<std::thread> callers;
  std::atomic<int> sum{0};
  for (int i = 0; i < 6; ++i) {
    callers.emplace_back([&] {
      const auto function = make_ref<TextFunction>("main", parse(kBranch));
      ops::RunContext context;
      std::vector<IValue> args{IValue(make_int_list({})), 20};
      sum += static_cast<int>(program_.run(*function, args, context, state_).to_int());
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 6 * 40);
}

TEST_F(RuntimeTest, a_failing_run_ends_after_its_branches) {
  const std::string text = R"(graph @main(%t : Tensor, %n : int) {
    %a : Future[int] = prim::fork[callee=graph @branch(%m : int) {
      %r : int = test::nap(%m)
      return (%r)
    }, name="branch"](%n)
    %y : int = test::fail(%t, %n)
    %x : int = prim::wait(%a)
    %s : int = test::add(%x, %y)
    return (%s)
  })";
  for (int i = 0; i < 20; ++i) {
    const Tensor tensor = Tensor::empty(IntVector{2, 3}, ScalarType::kFloat);
    const Error error = failure(text, {tensor, i});
    EXPECT_NE(std::string(error.what()).find("in test::fail"), std::string::npos);
  }
}

TEST_F(RuntimeTest, a_failing_branch_fails_the_run_with_its_own_context) {
  const Error error = failure(R"(graph @main(%t : Tensor, %n : int) {
    %a : Future[int] = prim::fork[callee=graph @branch(%t : Tensor, %m : int) {
      %r : int = test::fail(%t, %m)
      return (%r)
    }, name="branch"](%t, %n)
    %y : int = test::nap(%n)
    %x : int = prim::wait(%a)
    %s : int = test::add(%x, %y)
    return (%s)
  })",
                              {Tensor::empty(IntVector{2, 3}, ScalarType::kFloat), 5});
  EXPECT_NE(std::string(error.what())
                .find("in test::fail(Tensor tensor, int n) -> int with "
                      "(Float[2, 3], 5)"),
            std::string::npos)
      << error.what();
}

TEST_F(RuntimeTest, branches_hold_branches_and_forks_of_their_own) {
  EXPECT_EQ(run(R"(graph @main(%n : int) {
    %a : Future[int] = prim::fork[callee=graph @branch(%m : int) {
      %b : Future[int] = prim::fork[callee=graph @branch(%k : int) {
        %r : int = test::nap(%k)
        return (%r)
      }, name="branch"](%m)
      %f : Future[int] = prim::fork[callee=graph @body(%k : int) {
        %r : int = test::nap(%k)
        return (%r)
      }](%m)
      %y : int = test::nap(%m)
      %x : int = prim::wait(%b)
      %z : int = prim::wait(%f)
      %s : int = test::add(%x, %y)
      %t : int = test::add(%s, %z)
      return (%t)
    }, name="branch"](%n)
    %y : int = test::nap(%n)
    %x : int = prim::wait(%a)
    %s : int = test::add(%x, %y)
    return (%s)
  })",
                {10})
                .to_int(),
            40);
}

TEST_F(RuntimeTest, a_cancelled_run_takes_its_branches_along) {
  const std::string text = R"(graph @main(%n : int) {
    %yes : bool = prim::Constant[value=True]()
    %a : Future[int] = prim::fork[callee=graph @branch(%m : int) {
      %yes : bool = prim::Constant[value=True]()
      %r : int = prim::Loop(%m, %yes, %m)
        block0(%i : int, %x : int):
          -> (%yes, %x)
      return (%r)
    }, name="branch"](%n)
    %r : int = prim::Loop(%n, %yes, %n)
      block0(%i : int, %x : int):
        -> (%yes, %x)
    %w : int = prim::wait(%a)
    %s : int = test::add(%w, %r)
    return (%s)
  })";
  writable_state_->deadline = RunState::Clock::now() + std::chrono::milliseconds(20);
  EXPECT_EQ(failure(text, {INT64_MAX}).code(), ErrorCode::kDeadlineExceeded);
}

// A specialised plan may be evicted, and its module freed, while a fork of its still runs.
TEST_F(RuntimeTest, a_fork_may_outlast_the_plan_that_forked_it) {
  auto plan = lower(parse(R"(graph @main(%n : int) {
    %f : Future[int] = prim::fork[callee=graph @body(%m : int) {
      %r : int = test::nap(%m)
      %s : int = test::add(%r, %m)
      %p : int = test::mul(%s, %s)
      return (%p)
    }](%n)
    return (%f)
  })"));
  IValue args[] = {20};
  const IValue result = program_.run_single(*plan, args, context_, state_);
  plan = nullptr;
  EXPECT_EQ(result.future_ref()->wait().to_int(), 1600);
}

TEST_F(RuntimeTest, forks_that_write_run_in_program_order) {
  const IValue result = run(R"(graph @main(%list : List[int], %one : int) {
    %f : Future[List[int]] = prim::fork[callee=graph @body(%l : List[int], %i : int) {
      %r : List[int] = test::append(%l, %i)
      return (%r)
    }](%list, %one)
    %two : int = prim::Constant[value=2]()
    %l2 : List[int] = test::append(%list, %two)
    %done : List[int] = prim::wait(%f)
    return (%done)
  })",
                            {IValue(make_int_list({})), 1});
  EXPECT_EQ(to_text(result), "[1, 2]");
}

TEST_F(RuntimeTest, waiting_rethrows_what_a_fork_raised) {
  const Error error = failure(R"(graph @main(%m : str, %n : int) {
    %f : Future[str] = prim::fork[callee=graph @body(%t : str) {
      prim::RaiseException(%t)
      return (%t)
    }](%m)
    %r : str = prim::wait(%f)
    return (%r)
  })",
                              {IValue("inside"), 1});
  EXPECT_EQ(error.code(), ErrorCode::kModelException);
  EXPECT_EQ(error.message(), "inside");
}

TEST_F(RuntimeTest, many_threads_run_one_program) {
  const auto function = make_ref<TextFunction>("main", parse(kForkTwoNaps));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        ops::RunContext context;
        std::vector<IValue> args{t % 3};
        if (program_.run(*function, args, context, state_).to_int() != 2 * (t % 3)) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tierup::runtime
