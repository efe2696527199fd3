// Plans made from graph texts: what the interpreter does with them.
#include "tierup/runtime/runtime_fixture.h"

namespace tierup::runtime {
namespace {

TEST_F(RuntimeTest, runs_operators_in_order) {
  EXPECT_EQ(run(R"(graph @main(%a : int, %b : int) {
    %s : int = test::add(%a, %b)
    %r : int = test::mul(%s, %s)
    return (%r)
  })",
                {2, 3})
                .to_int(),
            25);
}

TEST_F(RuntimeTest, takes_the_branch_of_the_condition) {
  const std::string text = R"(graph @main(%a : int) {
    %one : int = prim::Constant[value=1]()
    %c : bool = test::positive(%a)
    %r : int = prim::If(%c)
      block0():
        %x : int = test::add(%a, %one)
        -> (%x)
      block1():
        -> (%one)
    return (%r)
  })";
  EXPECT_EQ(run(text, {5}).to_int(), 6);
  EXPECT_EQ(run(text, {-5}).to_int(), 1);
}

TEST_F(RuntimeTest, loops_carry_values_and_stop_by_condition_or_count) {
  const std::string text = R"(graph @main(%n : int, %limit : int) {
    %zero : int = prim::Constant[value=0]()
    %yes : bool = prim::Constant[value=True]()
    %r : int = prim::Loop(%n, %yes, %zero)
      block0(%i : int, %sum : int):
        %next : int = test::add(%sum, %i)
        %go : bool = test::lt(%next, %limit)
        -> (%go, %next)
    return (%r)
  })";
  EXPECT_EQ(run(text, {5, 1000}).to_int(), 10);
  EXPECT_EQ(run(text, {100, 10}).to_int(), 10);
  EXPECT_EQ(run(text, {-3, 10}).to_int(), 0);
}

TEST_F(RuntimeTest, swaps_carried_values_at_once) {
  const auto result = run(R"(graph @main(%n : int, %a : int, %b : int) {
    %yes : bool = prim::Constant[value=True]()
    %x : int, %y : int = prim::Loop(%n, %yes, %a, %b)
      block0(%i : int, %p : int, %q : int):
        -> (%yes, %q, %p)
    %r : Tuple[int, int] = prim::TupleConstruct(%x, %y)
    return (%r)
  })",
                          {3, 1, 2});
  EXPECT_EQ(result.to_tuple().items[0].to_int(), 2);
  EXPECT_EQ(result.to_tuple().items[1].to_int(), 1);
}

TEST_F(RuntimeTest, moves_the_last_use_and_frees_early) {
  // The list made here has no other holder when its last reader runs.
  EXPECT_EQ(run(R"(graph @main(%a : int) {
    %l : List[int] = prim::ListConstruct(%a, %a)
    %first : int = test::uses(%l)
    %second : int = test::uses(%l)
    %r : int = test::mul(%first, %second)
    return (%r)
  })",
                {1})
                .to_int(),
            2);
}

TEST_F(RuntimeTest, calls_functions_recursively_without_the_host_stack) {
  define("down", R"(graph @down(%n : int) {
    %minus : int = prim::Constant[value=-1]()
    %c : bool = test::positive(%n)
    %r : int = prim::If(%c)
      block0():
        %m : int = test::add(%n, %minus)
        %x : int = prim::CallFunction[callee=@down](%m)
        -> (%x)
      block1():
        -> (%n)
    return (%r)
  })");
  std::vector<IValue> args{9000};
  EXPECT_EQ(program_.run(*functions_["down"], args, context_, state_).to_int(), 0);
  args = {20000};
  try {
    program_.run(*functions_["down"], args, context_, state_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRecursionLimit);
    EXPECT_NE(error.message().find("maximum recursion depth exceeded"), std::string::npos);
  }
}

TEST_F(RuntimeTest, raises_with_type_and_message) {
  const Error error = failure(R"(graph @main(%m : str) {
    %c : str = prim::Constant[value="builtins.ValueError"]()
    prim::RaiseException(%m, %c)
    return (%m)
  })",
                              {IValue("bad")});
  EXPECT_EQ(error.code(), ErrorCode::kModelException);
  EXPECT_EQ(error.python_type(), "builtins.ValueError");
  EXPECT_EQ(error.message(), "bad");
}

TEST_F(RuntimeTest, errors_name_operator_schema_and_shapes) {
  const Error error = failure(R"(graph @main(%t : Tensor, %n : int) {
    %r : int = test::fail(%t, %n)
    return (%r)
  })",
                              {Tensor::empty(IntVector{2, 3}, ScalarType::kFloat), 7});
  EXPECT_NE(std::string(error.what())
                .find("in test::fail(Tensor tensor, int n) -> int with (Float[2, 3], 7)"),
            std::string::npos)
      << error.what();
}

TEST_F(RuntimeTest, endless_loops_stop_at_the_deadline_and_when_cancelled) {
  const std::string text = R"(graph @main(%n : int) {
    %yes : bool = prim::Constant[value=True]()
    %r : int = prim::Loop(%n, %yes, %n)
      block0(%i : int, %x : int):
        -> (%yes, %x)
    return (%r)
  })";
  writable_state_->deadline = RunState::Clock::now() + std::chrono::milliseconds(20);
  EXPECT_EQ(failure(text, {INT64_MAX}).code(), ErrorCode::kDeadlineExceeded);
  writable_state_->deadline.reset();
  auto flag = std::make_shared<std::atomic<bool>>(false);
  writable_state_->cancelled = flag;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    *flag = true;
  });
  EXPECT_EQ(failure(text, {INT64_MAX}).code(), ErrorCode::kCancelled);
  canceller.join();
}

TEST_F(RuntimeTest, leaves_with_blocks_innermost_first_when_an_error_passes) {
  std::string log;
  context_.print = [&](const std::string& line) { log += line.substr(0, line.size() - 1) + ";"; };
  const auto make_class = [&](const std::string& name) {
    auto type = ClassType::make(name, false);
    classes_[name] = type;
    type->add_method("__enter__", define(name + ".__enter__",
                                         "graph @enter(%self : " + name +
                                             ") {\n %m : str = prim::Constant[value=\"enter " +
                                             name + "\"]()\n prim::Print(%m)\n return (%m)\n}"));
    type->add_method("__exit__", define(name + ".__exit__",
                                        "graph @exit(%self : " + name +
                                            ", %a : Any, %b : Any, %c : Any) {\n %m : str = "
                                            "prim::Constant[value=\"exit " +
                                            name + "\"]()\n prim::Print(%m)\n return (%a)\n}"));
    return make_ref<ObjectValue>(type);
  };
  const IValue a(make_class("A"));
  const IValue b(make_class("B"));
  const std::string text = R"(graph @main(%a : A, %b : B, %bad : bool) {
    %x : str = prim::Enter(%a)
    %y : str = prim::Enter(%b)
    prim::If(%bad)
      block0():
        prim::RaiseException(%x)
        -> ()
      block1():
        -> ()
    prim::Exit(%b)
    prim::Exit(%a)
    return (%y)
  })";
  EXPECT_EQ(run(text, {a, b, false}).to_str(), "enter B");
  EXPECT_EQ(log, "enter A;enter B;exit B;exit A;");
  log.clear();
  EXPECT_EQ(failure(text, {a, b, true}).message(), "enter A");
  EXPECT_EQ(log, "enter A;enter B;exit B;exit A;");
}

TEST_F(RuntimeTest, methods_are_found_by_the_class_of_the_receiver) {
  const auto make_class = [&](const std::string& name, int value) {
    auto type = ClassType::make(name, false);
    classes_[name] = type;
    type->add_method("get", define(name + ".get",
                                   "graph @get(%self : Any) {\n %r : int = "
                                   "prim::Constant[value=" +
                                       std::to_string(value) + "]()\n return (%r)\n}"));
    return make_ref<ObjectValue>(type);
  };
  const IValue a(make_class("A", 1));
  const IValue b(make_class("B", 2));
  const std::string text = R"(graph @main(%o : Any) {
    %r : int = prim::CallMethod[name="get"](%o)
    return (%r)
  })";
  const auto function = make_ref<TextFunction>("main", parse(text));
  for (int round = 0; round < 3; ++round) {
    std::vector<IValue> args{a};
    EXPECT_EQ(program_.run(*function, args, context_, state_).to_int(), 1);
    args = {b};
    EXPECT_EQ(program_.run(*function, args, context_, state_).to_int(), 2);
  }
}

}  // namespace
}  // namespace tierup::runtime
