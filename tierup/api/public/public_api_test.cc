// The public API on small archives: what a user of the library sees.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "tierup/api/public/error_fixture.h"
#include "tierup/api/public/public_convert.h"
#include "tierup/archive/zip_builder.h"
#include "tierup/tierup.h"

namespace {

using namespace tierup::v1;
using namespace tierup::fixture;

// An archive whose root has one float attribute and the methods of `body`.
std::string make_archive(const std::string& body, const std::string& classes = "") {
  tierup::archive::testing::PickleBuilder pickle;
  pickle.global("__torch__", "M").op(")\x81}(").str("scale").floating(2.5).str("training");
  pickle.op("\x88ub");
  tierup::archive::testing::ZipBuilder zip;
  zip.add("m/data.pkl", pickle.finish());
  zip.add("m/code/__torch__.py", classes +
                                     "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n"
                                     "  scale : float\n  training : bool\n" +
                                     body);
  zip.add("m/constants.pkl", "\x80\x02).");
  zip.add("m/version", "3\n");
  return zip.finish();
}

Module load(const std::string& archive, const Options& options = {}) {
  return Module::load(std::as_bytes(std::span(archive.data(), archive.size())), options);
}

const char* const kAddFloats =
    "  def forward(self: __torch__.M,\n    a: float,\n    b: float=1.5) -> float:\n"
    "    return torch.add(torch.mul(a, self.scale), b)\n";

int64_t threads_of_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// OpenMP lets all threads sleep at barriers where its teams have more of them than there are cores:
// a team of the thread that loads would slow down the one that calls.
TEST(PublicApi, loading_leaves_no_team_behind) {
  Options options;
  options.threads = 2;
  std::string comment(size_t{3} << 20U, '#');
  comment.back() = '\n';
  const std::string archive = make_archive(kAddFloats, comment);
  const Module other = load(make_archive(kAddFloats), options);  // Starts what is there for good.
  std::thread([&] {
    const int64_t before = threads_of_process();
    const Module module = load(archive, options);
    EXPECT_EQ(threads_of_process(), before);
  }).join();
}

TEST(PublicApi, binds_arguments_by_position_name_and_default) {
  const Module module = load(make_archive(kAddFloats));
  EXPECT_EQ(module({2.0}).to_float(), 6.5);
  EXPECT_EQ(module({2}).to_float(), 6.5);  // Ints are taken for floats.
  EXPECT_EQ(module.run("forward", {2.0}, {{"b", 0.0}}).to_float(), 5.0);
  EXPECT_EQ(module.run("forward", {}, {{"b", 0.0}, {"a", 1.0}}).to_float(), 2.5);
}

TEST(PublicApi, wrong_arguments_are_named_before_anything_runs) {
  const Module module = load(make_archive(kAddFloats));
  EXPECT_TRUE(says(error_of([&] { module({}); }), "forward() is missing value for argument 'a'"));
  EXPECT_TRUE(says(error_of([&] { module({"x"}); }),
                   "forward() Expected a value of type 'float' for argument 'a' but instead found "
                   "type 'str'"));
  EXPECT_TRUE(says(error_of([&] { module.run("forward", {1.0}, {{"c", 1.0}}); }), "'c'"));
  EXPECT_TRUE(says(error_of([&] { module({1.0, 2.0, 3.0}); }), "expected at most 2"));
  EXPECT_EQ(error_of([&] { module.run("backward", {}); }).code(), ErrorCode::kNotFound);
}

TEST(PublicApi, lists_methods_with_their_signatures) {
  const Module module = load(make_archive(kAddFloats));
  const std::vector<MethodInfo> methods = module.methods();
  ASSERT_EQ(methods.size(), 1u);
  EXPECT_EQ(methods[0].signature, "forward(float a, float b=1.5) -> float");
  EXPECT_FALSE(methods[0].arguments[0].has_default);
  EXPECT_TRUE(methods[0].arguments[1].has_default);
  EXPECT_TRUE(module.has_method("forward"));
  EXPECT_FALSE(module.has_method("train"));
}

TEST(PublicApi, gets_and_sets_attributes) {
  const Module module = load(make_archive(kAddFloats));
  EXPECT_EQ(module.attribute("scale").to_float(), 2.5);
  module.set_attribute("scale", 10);
  EXPECT_EQ(module({1.0}).to_float(), 11.5);
  EXPECT_EQ(error_of([&] { module.set_attribute("scale", "x"); }).code(), ErrorCode::kTypeError);
  EXPECT_FALSE(module.has_attribute("nothing"));
  EXPECT_TRUE(module.attribute("training").to_bool());
  module.eval();
  EXPECT_FALSE(module.attribute("training").to_bool());
}

TEST(PublicApi, exceptions_of_the_model_keep_type_message_and_line) {
  const Module module =
      load(make_archive("  def forward(self: __torch__.M,\n    a: int) -> int:\n"
                        "    if torch.lt(a, 0):\n"
                        "      ops.prim.RaiseException(\"too small\", \"builtins.ValueError\")\n"
                        "    else:\n      pass\n    return a\n"));
  EXPECT_EQ(module({1}).to_int(), 1);
  const Error error = error_of([&] { module({-1}); });
  EXPECT_EQ(error.code(), ErrorCode::kModelException);
  EXPECT_EQ(error.python_type(), "builtins.ValueError");
  EXPECT_EQ(error.message(), "too small");
  EXPECT_TRUE(says(error, "RaiseException(\"too small\"")) << error.what();
}

const char* const kForever =
    "  def forward(self: __torch__.M,\n    a: int) -> int:\n    go = torch.gt(a, -1)\n"
    "    b = a\n    _0 = go\n    while _0:\n      b0 = torch.add(b, 1)\n"
    "      _0, b = torch.gt(b0, -1), b0\n    return b\n";

TEST(PublicApi, endless_loops_stop_at_the_time_limit) {
  Options options;
  options.time_limit_ms = 30;
  const Module module = load(make_archive(kForever), options);
  EXPECT_EQ(error_of([&] { module({1}); }).code(), ErrorCode::kDeadlineExceeded);
}

TEST(PublicApi, endless_loops_stop_when_cancelled) {
  const Module module = load(make_archive(kForever));
  RunOptions options;
  options.cancellation.emplace();
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    options.cancellation->cancel();
  });
  EXPECT_EQ(error_of([&] { module.run("forward", {1}, {}, options); }).code(),
            ErrorCode::kCancelled);
  canceller.join();
}

// One operator can take hours without taking memory: expand() makes many elements of one.
TEST(PublicApi, long_operators_stop_at_the_time_limit) {
  for (const char* work : {"torch.sum(y)", "torch.argmax(y)", "torch.any(y)", "torch.max(y)",
                           "torch.special_legendre_polynomial_p(torch.rand([100]), 1000000000)"}) {
    for (const int threads : {1, 2}) {
      Options options;
      options.time_limit_ms = 50;
      options.threads = threads;
      options.tiering = "compile=off";
      const Module module =
          load(make_archive("  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n"
                            "    y = torch.expand(x, [1099511627776])\n    return " +
                            std::string(work) + "\n"),
               options);
      EXPECT_EQ(error_of([&] {
                  module({Tensor::empty(std::array<int64_t, 1>{1}, DType::kFloat32)});
                }).code(),
                ErrorCode::kDeadlineExceeded)
          << work;
    }
  }
}

TEST(PublicApi, texts_and_lists_without_end_stop_at_the_time_limit) {
  const std::string nested =
      "    a0 = [n]\n    a1 = [a0, a0, a0, a0, a0, a0, a0, a0]\n"
      "    a2 = [a1, a1, a1, a1, a1, a1, a1, a1]\n    a3 = [a2, a2, a2, a2, a2, a2, a2, a2]\n"
      "    a4 = [a3, a3, a3, a3, a3, a3, a3, a3]\n    a5 = [a4, a4, a4, a4, a4, a4, a4, a4]\n"
      "    a6 = [a5, a5, a5, a5, a5, a5, a5, a5]\n    a7 = [a6, a6, a6, a6, a6, a6, a6, a6]\n"
      "    a8 = [a7, a7, a7, a7, a7, a7, a7, a7]\n";
  for (const std::string& work : {std::string("    return torch.len(torch.mul([n], 100000000))\n"),
                                  nested + "    return torch.len(str(a8))\n"}) {
    Options options;
    options.time_limit_ms = 50;
    const Module module = load(
        make_archive("  def forward(self: __torch__.M,\n    n: int) -> int:\n" + work), options);
    EXPECT_EQ(error_of([&] { module({1}); }).code(), ErrorCode::kDeadlineExceeded) << work;
  }
}

TEST(PublicApi, errors_about_values_that_hold_themselves_are_short) {
  const Module module = load(make_archive(
      "  def forward(self: __torch__.M,\n    x: int) -> str:\n    l = annotate(List[Any], [])\n"
      "    _0 = torch.append(l, l)\n    return str(l)\n"));
  const Error error = error_of([&] { module({1}); });
  EXPECT_EQ(error.code(), ErrorCode::kRecursionLimit) << error.what();
  EXPECT_TRUE(says(error, "[[[[...]]]]")) << error.what();
}

TEST(PublicApi, none_where_a_tensor_is_wanted_is_an_error_of_the_run) {
  for (const char* work : {"torch.relu(y)", "torch.cat([y, y])", "torch.add(torch.ones([2]), y)",
                           "torch.relu(unchecked_cast(Tensor, None))"}) {
    const Module module =
        load(make_archive("  def forward(self: __torch__.M,\n    x: Optional[Tensor]) -> Tensor:\n"
                          "    y = unchecked_cast(Tensor, x)\n    return " +
                          std::string(work) + "\n"));
    const Error error = error_of([&] { module({Value()}); });
    EXPECT_EQ(error.code(), ErrorCode::kTypeError) << work << ": " << error.what();
    EXPECT_TRUE(says(error, "None where a Tensor is expected")) << error.what();
  }
}

TEST(PublicApi, everything_unsupported_is_listed_at_load) {
  const std::string archive = make_archive(
      "  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n"
      "    _0 = torch.no_such_op(x)\n    _1 = ops.my_ops.special(_0, 2)\n    return _1\n");
  const Error error = error_of([&] { load(archive); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_TRUE(says(error, "aten::no_such_op")) << error.what();
  EXPECT_TRUE(says(error, "my_ops::special")) << error.what();
  EXPECT_TRUE(says(error, "_0 = torch.no_such_op(x)")) << error.what();
  Options options;
  options.allow_unsupported = true;
  EXPECT_TRUE(load(archive, options).has_method("forward"));
}

TEST(PublicApi, running_out_of_memory_is_an_error_and_the_next_call_works) {
  const Module module =
      load(make_archive("  def forward(self: __torch__.M,\n    n: int) -> int:\n"
                        "    _0 = torch.zeros([n], dtype=6)\n    return torch.len(_0)\n"));
  set_memory_limit(int64_t{64} << 20);
  const Error error = error_of([&] { module.forward({int64_t{1} << 30}); });
  EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(module.forward({1000}).to_int(), 1000);
  set_memory_limit(0);
}

TEST(PublicApi, views_and_lists_count_towards_the_memory_limit) {
  const Module views =
      load(make_archive("  def forward(self: __torch__.M,\n    n: int) -> int:\n"
                        "    _0 = torch.split(torch.expand(torch.zeros([1]), [n]), 1)\n"
                        "    return torch.len(_0)\n"));
  const Module list =
      load(make_archive("  def forward(self: __torch__.M,\n    n: int) -> int:\n"
                        "    l = annotate(List[int], [])\n    for i in range(n):\n"
                        "      _0 = torch.append(l, i)\n    return torch.len(l)\n"));
  for (const Module& module : {views, list}) {
    set_memory_limit(int64_t{64} << 20);
    const Error error = error_of([&] { module.forward({int64_t{1} << 25}); });
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory) << error.what();
    EXPECT_EQ(module.forward({1000}).to_int(), 1000);
    set_memory_limit(0);
  }
}

// Values that double with every step, or in one step, end at the limit, not at the machine's.
TEST(PublicApi, texts_dictionaries_and_repeated_lists_count_towards_the_memory_limit) {
  const std::string begin = "  def forward(self: __torch__.M,\n    n: int) -> int:\n";
  const std::string long_text =
      begin + "    s = \"0123456789abcdef\"\n    for i in range(n):\n      s = torch.add(s, s)\n";
  const std::vector<std::string> growing = {
      long_text + "    return torch.len(s)\n",
      begin +
          "    d = annotate(Dict[int, int], {})\n    for i in range(torch.mul(n, 1000000)):\n"
          "      torch._set_item(d, i, i)\n    return torch.len(d)\n",
      begin +
          "    d = annotate(Dict[str, int], {})\n    for i in range(torch.mul(n, 1000000)):\n"
          "      torch._set_item(d, str(i), i)\n    return torch.len(d)\n",
      begin +
          "    l = [\"some text that is not short\"]\n"
          "    return torch.len(torch.join(\", \", torch.mul(l, torch.mul(n, 200000))))\n",
      begin + "    return torch.len(torch.mul([1, 2], torch.mul(n, 1000000)))\n",
      begin + "    return torch.len(str(torch.expand(torch.ones([1]), [torch.mul(n, 1000000)])))\n",
      begin +
          "    a = [n]\n    b = [a, a, a, a, a, a, a, a]\n    c = [b, b, b, b, b, b, b, b]\n"
          "    d = [c, c, c, c, c, c, c, c]\n    e = [d, d, d, d, d, d, d, d]\n"
          "    f = [e, e, e, e, e, e, e, e]\n    g = [f, f, f, f, f, f, f, f]\n"
          "    h = [g, g, g, g, g, g, g, g]\n    return torch.len(str([h, h, h, h, h, h]))\n",
  };
  for (const std::string& program : growing) {
    const Module module = load(make_archive(program));
    set_memory_limit(int64_t{32} << 20);
    const Error error = error_of([&] { module.forward({30}); });
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory) << program << error.what();
    set_memory_limit(0);
  }
}

// TorchScript declares neither, so the operator that cannot take them speaks, with its line.
TEST(PublicApi, wrong_ranks_sizes_and_dtypes_are_named_with_operator_and_line) {
  const Module module =
      load(make_archive("  def forward(self: __torch__.M,\n    x: Tensor,\n    y: Tensor) -> "
                        "Tensor:\n    return torch.mm(x, y)\n"));
  const auto ones = [](std::vector<int64_t> shape, DType dtype) {
    return Tensor::zeros(shape, dtype);
  };
  const Tensor good = ones({2, 3}, DType::kFloat32);
  for (int i = 0; i < 4; ++i) {  // Also where plans are made.
    for (const Tensor& bad : {ones({3}, DType::kFloat32), ones({4, 2}, DType::kFloat32),
                              ones({3, 2}, DType::kFloat64), ones({3, 2}, DType::kInt64)}) {
      const Error error = error_of([&] { module({good, bad}); });
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << error.what();
      EXPECT_TRUE(says(error, "aten::mm(Tensor self, Tensor mat2) -> Tensor")) << error.what();
      EXPECT_TRUE(says(error, bad.describe())) << error.what();
      EXPECT_TRUE(says(error, "return torch.mm(x, y)")) << error.what();
    }
    EXPECT_EQ(module({good, ones({3, 2}, DType::kFloat32)}).to_tensor().shape()[1], 2);
  }
}

const char* const kOnCuda =
    "  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n"
    "    y = torch.zeros([3], dtype=6, layout=0, device=torch.device(\"cuda:1\"))\n"
    "    return torch.add(torch.to(x, torch.device(\"cuda:1\")), y)\n";

TEST(PublicApi, code_for_cuda_runs_on_the_cpu_or_is_refused_by_name) {
  const std::vector<int64_t> shape = {3};
  const Value input = Tensor::of<float>(std::vector<float>(3, 2.0F), shape);
  EXPECT_EQ(load(make_archive(kOnCuda))({input}).to_tensor().data<float>()[2], 2.0F);
  Options options;
  options.devices_to_cpu = false;
  const Module module = load(make_archive(kOnCuda), options);
  const Error error = error_of([&] { module({input}); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_TRUE(says(error, "cuda:1")) << error.what();
  EXPECT_TRUE(says(error, "device=torch.device(\"cuda:1\")")) << error.what();
}

// optimize_for_inference bakes oneDNN's packed weights into the code.
TEST(PublicApi, models_packed_for_another_runtime_are_refused_by_name) {
  const Error error =
      error_of([] { Module::load(std::string("tests/data/modules/refused_optimized.pt")); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_TRUE(says(error, "prim::ConstantMKLDNNTensor")) << error.what();
  EXPECT_TRUE(says(error, "prim::mkldnn_convolution")) << error.what();
}

TEST(PublicApi, hooks_run_in_call_but_not_in_forward) {
  const Module module = load(make_archive(
      "  __forward_pre_hooks__ = [\"before\", ]\n  __forward_hooks__ = [\"after\", ]\n"
      "  def forward(self: __torch__.M,\n    a: int) -> int:\n    return torch.mul(a, 10)\n"
      "  def before(self: __torch__.M,\n    args: Tuple[int]) -> Tuple[int]:\n"
      "    a, = args\n    return (torch.add(a, 1),)\n"
      "  def after(self: __torch__.M,\n    args: Tuple[int],\n    out: int) -> int:\n"
      "    return torch.neg(out)\n"));
  EXPECT_EQ(module.forward({2}).to_int(), 20);
  EXPECT_EQ(module.call({2}).to_int(), -30);
}

TEST(PublicApi, what_the_model_prints_goes_to_the_host) {
  std::string printed;
  Options options;
  options.print = [&](const std::string& text) { printed += text; };
  const Module module = load(make_archive("  def forward(self: __torch__.M,\n    a: int) -> None:\n"
                                          "    print(\"a is\", a)\n    return None\n"),
                             options);
  EXPECT_EQ(module({3}).kind(), Value::Kind::kNone);
  EXPECT_EQ(printed, "a is 3\n");
}

TEST(PublicApi, containers_keep_order_and_names) {
  const Value dict = Value::dict({{"b", 1}, {"a", Value::list({1.5, 2.5})}});
  EXPECT_EQ(dict.entries()[0].first.to_string(), "b");
  EXPECT_EQ(dict.entries()[1].second.items()[1].to_float(), 2.5);
  EXPECT_EQ(dict.describe(), "{b: 1, a: [1.5, 2.5]}");
  EXPECT_EQ(Value::tuple({1, true}).items()[1].kind(), Value::Kind::kBool);
  EXPECT_THROW(Value(1).to_string(), Error);
}

TEST(PublicApi, tensors_share_memory_with_the_caller) {
  std::vector<float> data = {1, 2, 3, 4, 5, 6};
  bool released = false;
  {
    const std::vector<int64_t> shape = {2, 3};
    const Tensor tensor =
        Tensor::borrow(data.data(), shape, DType::kFloat32, [&] { released = true; });
    EXPECT_EQ(tensor.data<float>(), data.data());
    EXPECT_EQ(tensor.describe(), "Float[2, 3]");
    EXPECT_THROW(tensor.data<int64_t>(), Error);
    const Tensor back = Tensor::from_dlpack(tensor.to_dlpack());
    EXPECT_EQ(back.data<float>(), data.data());
    EXPECT_NE(tensor.clone().data<float>(), data.data());
    EXPECT_FALSE(released);
  }
  EXPECT_TRUE(released);
}

std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<float> outputs_of(const Module& module) {
  const std::vector<int64_t> shape = {2, 20};
  const std::vector<float> ones(40, 1.0F);
  const Tensor out = module({Tensor::of<float>(ones, shape)}).to_tensor().contiguous();
  return {out.data<float>(), out.data<float>() + out.element_count()};
}

TEST(PublicApi, loads_the_same_from_path_bytes_and_reader) {
  const std::string path = "tests/data/zoo/mlp3.pt";
  const std::string bytes = file_bytes(path);
  const std::vector<float> expected = outputs_of(Module::load(path));
  EXPECT_EQ(outputs_of(load(bytes)), expected);
  const Module read = Module::load(Reader{bytes.size(), [&](uint64_t at, std::span<std::byte> to) {
                                            std::memcpy(to.data(), bytes.data() + at, to.size());
                                          }});
  EXPECT_EQ(outputs_of(read), expected);
  EXPECT_EQ(error_of([] { Module::load("no/such/file.pt"); }).code(), ErrorCode::kNotFound);
}

TEST(PublicApi, weights_written_through_their_data_answer_once_marked) {
  Options options;
  options.tiering = "compile=blocking,profiled_runs=1";
  const Module module = Module::load("tests/data/zoo/mlp3.pt", options);
  const std::vector<float> before = outputs_of(module);
  for (int i = 0; i < 3; ++i) outputs_of(module);
  for (const auto& [name, tensor] : module.parameters()) {
    std::fill_n(tensor.data<float>(), tensor.element_count(), 0.0F);
    tensor.mark_written();
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(outputs_of(module), std::vector<float>(before.size()));
}

TEST(PublicApi, applies_a_state_dict_or_says_all_that_does_not_fit) {
  const Module module = Module::load("tests/data/zoo/mlp3.pt");
  const std::vector<float> before = outputs_of(module);
  NamedTensors state;
  for (const auto& [name, tensor] : module.state_dict()) {
    state.emplace_back(name, Tensor::zeros(tensor.shape(), tensor.dtype()));
  }
  EXPECT_EQ(module.parameters().size(), state.size());
  NamedTensors wrong = state;
  wrong[0].first = "surprise";
  const std::vector<int64_t> shape = {1};
  wrong[1].second = Tensor::zeros(shape, DType::kFloat32);
  const Error error = error_of([&] { module.load_state_dict(wrong); });
  EXPECT_TRUE(says(error, "unexpected: surprise") && says(error, "missing: " + state[0].first) &&
              says(error, "size mismatch: " + state[1].first))
      << error.what();
  EXPECT_EQ(outputs_of(module), before);
  module.load_state_dict(state);
  EXPECT_NE(outputs_of(module), before);
}

TEST(PublicApi, tiering_is_set_for_one_module_and_checked_at_load) {
  Options options;
  options.tiering = "compile=off,max_plans=3";
  EXPECT_EQ(model_options(options).tiering.compile, tierup::tier::CompileMode::kOff);
  EXPECT_EQ(model_options(options).tiering.max_plans, 3U);
  EXPECT_EQ(outputs_of(Module::load("tests/data/zoo/mlp3.pt", options)),
            outputs_of(Module::load("tests/data/zoo/mlp3.pt")));
  options.tiering = "compile=sometimes";
  EXPECT_TRUE(
      says(error_of([&] { Module::load("tests/data/zoo/mlp3.pt", options); }), "sometimes"));
  options.tiering = "speed=11";
  EXPECT_TRUE(says(error_of([&] { Module::load("tests/data/zoo/mlp3.pt", options); }), "speed"));
}

TEST(PublicApi, sixteen_threads_get_right_answers) {
  const Module module = Module::load("tests/data/zoo/mlp3.pt");
  const std::vector<float> expected = outputs_of(module);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        if (outputs_of(module) != expected) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(module.stats().run_count, 16 * 50 + 1);
}

}  // namespace
