// Unpickler: opcodes, identity, the closed table of globals, and pickles made to do harm.
#include "tierup/archive/unpickler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tierup/archive/zip_builder.h"
#include "tierup/base/error.h"

namespace tierup::archive {
namespace {

using testing::PickleBuilder;

// Knows one enum and takes every other name for a class whose objects are their states.
class AnyClass final : public ClassResolver {
 public:
  AnyClass() : color_(EnumType::make("__torch__.Color", Type::integer())) {
    color_->add_member("RED", IValue(1));
  }
  TypePtr resolve(const std::string& name) override {
    if (name == "__torch__.Color") return color_;
    return ClassType::make(name, false);
  }
  TypePtr parse_type(std::string_view text) override {
    if (text == "List[str]") return Type::list(Type::str());
    if (text == "Dict[str, bool]") return Type::dict(Type::str(), Type::boolean());
    return Type::integer();
  }
  IValue build_object(const TypePtr&, IValue state) override { return state; }

 private:
  std::shared_ptr<EnumType> color_;
};

// Storages of zeros, as large as is asked for up to 1000 bytes.
Ref<Storage> zeros(const std::string&, ScalarType dtype, int64_t numel) {
  Ref<Storage> storage =
      Storage::allocate(std::min<size_t>(static_cast<size_t>(numel) * item_size(dtype), 1000));
  std::fill_n(static_cast<char*>(storage->data()), storage->bytes(), 0);
  return storage;
}

IValue read(const std::string& bytes) {
  AnyClass classes;
  return unpickle(bytes, classes, zeros);
}
IValue read(const PickleBuilder& builder) { return read(builder.finish()); }

std::string failure_of(const std::string& bytes, UnpickleOptions options = {}) {
  AnyClass classes;
  try {
    unpickle(bytes, classes, zeros, options);
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

void expect_failure(const PickleBuilder& builder, const char* words) {
  const std::string text = failure_of(builder.finish());
  EXPECT_NE(text.find(words), std::string::npos) << text;
}

TEST(Unpickler, reads_numbers_by_their_opcodes) {
  EXPECT_EQ(read(PickleBuilder().op("K\xff")).to_int(), 255);
  EXPECT_EQ(read(PickleBuilder().op("M\xff\xff")).to_int(), 65535);
  EXPECT_EQ(read(PickleBuilder().op("J\xff\xff\xff\xff")).to_int(), -1);
  EXPECT_EQ(read(PickleBuilder().integer(std::numeric_limits<int64_t>::min())).to_int(),
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(read(PickleBuilder().op(std::string_view("\x8a\0", 2))).to_int(), 0);
  EXPECT_EQ(read(PickleBuilder().op("\x8a\1\xfe")).to_int(), -2);
  EXPECT_EQ(read(PickleBuilder().op(std::string_view("\x8a\2\xfe\0", 4))).to_int(), 254);
  EXPECT_EQ(read(PickleBuilder().floating(0.1)).to_float(), 0.1);
  EXPECT_TRUE(std::signbit(read(PickleBuilder().floating(-0.0)).to_float()));
  EXPECT_TRUE(read(PickleBuilder().op("N")).is_none());
  EXPECT_TRUE(read(PickleBuilder().op("\x88")).to_bool());
  EXPECT_EQ(read(PickleBuilder().str(std::string("a\0b", 3))).to_str().size(), 3u);
}

TEST(Unpickler, reads_containers_and_keeps_identity) {
  const IValue value = read(PickleBuilder()
                                .op("(]q")
                                .op(std::string_view("\0", 1))
                                .op("(K\1K\2e")
                                .op(std::string_view("h\0t", 3)));
  const auto& items = value.to_tuple().items;
  ASSERT_EQ(items.size(), 2u);
  EXPECT_TRUE(items[0].is_same(items[1]));
  EXPECT_EQ(items[0].to_list().items.size(), 2u);
  const IValue dict =
      read(PickleBuilder().op("}(").str("b").op("K\1").str("a").op("K\2").str("b").op("K\3u"));
  EXPECT_EQ(to_text(dict), "{b: 3, a: 2}");
  EXPECT_EQ(read(PickleBuilder().op("(K\1K\2l")).to_list().items.size(), 2u);
  EXPECT_EQ(read(PickleBuilder().op("(K\1K\2d")).to_dict().size(), 1u);
  EXPECT_EQ(read(PickleBuilder().op("]K\1a")).to_list().items.size(), 1u);
  EXPECT_EQ(read(PickleBuilder().op("}K\1K\2s")).to_dict().size(), 1u);
}

TEST(Unpickler, tags_containers_with_their_types) {
  const IValue list =
      read(PickleBuilder().global("torch.jit._pickle", "build_intlist").op("](K\1e\x85R"));
  EXPECT_EQ(list.type()->to_string(), "List[int]");
  const IValue strs = read(PickleBuilder()
                               .global("torch.jit._pickle", "restore_type_tag")
                               .op("](")
                               .str("a")
                               .op("e")
                               .str("List[str]")
                               .op("\x86R"));
  EXPECT_EQ(strs.type()->to_string(), "List[str]");
  expect_failure(PickleBuilder()
                     .global("torch.jit._pickle", "build_intlist")
                     .op("](\x88"
                         "e\x85R"),
                 "a list of int");
  expect_failure(PickleBuilder()
                     .global("torch.jit._pickle", "restore_type_tag")
                     .op("]")
                     .str("int")
                     .op("\x86R"),
                 "tagged as int");
}

TEST(Unpickler, makes_small_values_by_their_globals) {
  EXPECT_EQ(read(PickleBuilder().global("torch", "device").str("cuda:1").op("\x85R")).to_device(),
            Device::parse("cuda:1"));
  EXPECT_EQ(read(PickleBuilder().global("builtins", "complex").floating(1).floating(2).op("\x86R"))
                .to_complex(),
            complex128(1, 2));
  EXPECT_EQ(read(PickleBuilder().global("collections", "OrderedDict").op(")R")).to_dict().size(),
            0u);
  EXPECT_EQ(read(PickleBuilder().global("torch", "float16")).to_int(), 5);
  EXPECT_EQ(read(PickleBuilder().global("__torch__", "Color").op("K\1R")).to_enum().name, "RED");
  expect_failure(PickleBuilder().global("__torch__", "Color").op("K\2R"), "no member");
}

TEST(Unpickler, rebuilds_tensors_that_share_storages) {
  const IValue pair = read(PickleBuilder()
                               .op("(")
                               .tensor("FloatStorage", "0", 6, 0, {2, 3}, {3, 1})
                               .tensor("FloatStorage", "0", 6, 1, {2}, {2})
                               .op("t"));
  const Tensor whole = pair.to_tuple().items[0].to_tensor();
  const Tensor part = pair.to_tuple().items[1].to_tensor();
  EXPECT_EQ(whole.describe(), "Float[2, 3]");
  EXPECT_EQ(whole.storage(), part.storage());
  whole.data<float>()[1] = 5;
  EXPECT_EQ(part.data<float>()[0], 5);
  EXPECT_EQ(read(PickleBuilder().tensor("LongStorage", "0", 1, 0, {}, {})).to_tensor().dim(), 0);
  EXPECT_EQ(
      read(PickleBuilder().tensor("LongStorage", "0", 0, 0, {0, 3}, {3, 1})).to_tensor().numel(),
      0);
}

TEST(Unpickler, refuses_tensors_outside_of_their_storage) {
  const auto expect = [](int64_t numel, int64_t offset, std::vector<int64_t> sizes,
                         std::vector<int64_t> strides, const char* words) {
    expect_failure(PickleBuilder().tensor("FloatStorage", "0", numel, offset, sizes, strides),
                   words);
  };
  const int64_t huge = std::numeric_limits<int64_t>::max();
  expect(6, 0, {2, 3}, {4, 1}, "reaches outside");
  expect(6, 1, {2, 3}, {3, 1}, "reaches outside");
  expect(6, 0, {7}, {1}, "reaches outside");
  expect(6, -1, {1}, {1}, "offset");
  expect(6, huge, {1}, {1}, "offset");
  expect(6, 0, {-1}, {1}, "the size -1");
  expect(6, 0, {2}, {-1}, "the stride -1");
  expect(6, 0, {huge, huge}, {0, 0}, "the size");
  expect(6, 0, {int64_t{1} << 47, int64_t{1} << 47}, {0, 0}, "too many elements");
  expect(6, 0, {3}, {1, 1}, "1 sizes and 2 strides");
  expect(-6, 0, {1}, {1}, "-6 elements");
  expect(huge, 0, {1}, {1}, "elements");
  expect(1000, 0, {1}, {1}, "has 1000 bytes");
  EXPECT_EQ(
      read(PickleBuilder().tensor("FloatStorage", "0", 6, 0, {5, 3}, {0, 1})).to_tensor().numel(),
      15);
}

TEST(Unpickler, names_what_it_refuses) {
  expect_failure(PickleBuilder().global("os", "system").str("true").op("\x85R"), "os.system");
  expect_failure(PickleBuilder().global("builtins", "eval"), "builtins.eval");
  expect_failure(PickleBuilder().global("torch", "load"), "torch.load");
  expect_failure(
      PickleBuilder().global("__torch__.torch.classes.quantized", "Conv2dPackedParamsBase"),
      "custom C++ class quantized.Conv2dPackedParamsBase");
  expect_failure(PickleBuilder().global("torch.distributed.rpc", "rref"), "remote references");
  expect_failure(PickleBuilder().global("torch._utils", "_rebuild_qtensor").op(")R"), "quantized");
  expect_failure(PickleBuilder().global("torch._utils", "_rebuild_sparse_tensor").op(")R"),
                 "sparse");
  expect_failure(PickleBuilder().tensor("QInt8Storage", "0", 1, 0, {1}, {1}), "quantized");
  expect_failure(PickleBuilder().op("i"), "opcode 0x69 at offset 2");
  EXPECT_NE(failure_of("\x80\x04.").find("protocol 4"), std::string::npos);
}

TEST(Unpickler, refuses_streams_that_break_the_machine) {
  expect_failure(PickleBuilder(), "one value");
  expect_failure(PickleBuilder().op("NN"), "one value");
  expect_failure(PickleBuilder().op("N("), "one value");
  expect_failure(PickleBuilder().op("\x86"), "more values than it has");
  expect_failure(PickleBuilder().op("]N(a"), "more values than it has");
  expect_failure(PickleBuilder().op("t"), "lacks a mark");
  expect_failure(PickleBuilder().op("N(K\1e"), "no list");
  expect_failure(PickleBuilder().op("}(K\1u"), "no dict");
  expect_failure(PickleBuilder().op("h\5"), "never set");
  expect_failure(PickleBuilder().op("NNR"), "no function");
  expect_failure(PickleBuilder().op("NNb"), "no object");
  expect_failure(PickleBuilder().op("N)\x81"), "no class");
  expect_failure(PickleBuilder().op("NQ"), "storage identifier");
  expect_failure(PickleBuilder().op("}]Ns"), "cannot be a dict key");
  expect_failure(PickleBuilder().op("\x8a\x09"
                                    "123456789"),
                 "9 bytes");
  expect_failure(PickleBuilder().op("X\xff\xff\xff\xff"), "cut off");
  expect_failure(PickleBuilder().op("cabc"), "cut off");
  EXPECT_NE(failure_of("N.").find("protocol"), std::string::npos);
  EXPECT_NE(failure_of("").find("cut off"), std::string::npos);
}

TEST(Unpickler, keeps_names_out_of_values) {
  expect_failure(PickleBuilder().global("torch", "device"), "where a value belongs");
  expect_failure(PickleBuilder().op("](").global("torch", "FloatStorage").op("e"),
                 "where a value belongs");
  expect_failure(PickleBuilder()
                     .op("](")
                     .global("torch", "FloatStorage")
                     .op("\x85"
                         "e"),
                 "where a value belongs");
  expect_failure(PickleBuilder().op("}K\1").storage("FloatStorage", "0", 1).op("s"),
                 "where a value belongs");
}

TEST(Unpickler, refuses_values_that_contain_themselves) {
  using std::string_view_literals::operator""sv;
  expect_failure(PickleBuilder().op("]q\0h\0a"sv), "into itself");
  // a = []; b = []; a.append(b); b.append(a).
  expect_failure(PickleBuilder().op("]q\0]q\1ah\1h\0a"sv), "already part of another");
  // d = {}; d[1] = (d,).
  expect_failure(PickleBuilder().op("}q\0K\1h\0\x85s"sv), "already part of another");
}

TEST(Unpickler, bounds_depth_and_number_of_values) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "]";
  for (int i = 0; i < 99999; ++i) deep += "a";
  EXPECT_NE(failure_of("\x80\x02" + deep + ".").find("nests deeper than 1000"), std::string::npos);
  std::string tuples = "\x80\x02)";
  for (int i = 0; i < 100000; ++i) tuples += "\x85";
  EXPECT_NE(failure_of(tuples + ".").find("nests deeper"), std::string::npos);
  EXPECT_NE(failure_of("\x80\x02" + std::string(200, '}') + ".", {.max_values = 1000})
                .find("too many values"),
            std::string::npos);
}

TEST(Unpickler, says_where_in_which_stream) {
  AnyClass classes;
  try {
    unpickle(PickleBuilder().op("}").str("weight").global("os", "system").op("s").finish(), classes,
             zeros, {.name = "m.pt: data.pkl"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("in m.pt: data.pkl at byte 14 (near \"weight\")"),
              std::string::npos)
        << error.what();
  }
}

TEST(Unpickler, answers_every_truncation_and_bit_flip) {
  const std::string good = PickleBuilder()
                               .op("}(")
                               .str("w")
                               .tensor("FloatStorage", "0", 6, 0, {2, 3}, {3, 1})
                               .str("o")
                               .global("__torch__.m", "Net")
                               .op(")\x81}(")
                               .str("training")
                               .op("\x88ubu")
                               .finish();
  EXPECT_EQ(failure_of(good), "no error");
  for (size_t n = 0; n < good.size(); ++n) EXPECT_NE(failure_of(good.substr(0, n)), "no error");
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(failure_of(bad), "");
  }
}

TEST(Unpickler, makes_objects_of_attribute_dicts) {
  const auto type = ClassType::make("__torch__.Net", true);
  type->add_attribute({"rate", Type::floating()});
  type->add_attribute({"name", Type::str()});
  auto state = make_ref<DictValue>(Type::any(), Type::any());
  state->set("rate", IValue(1));
  state->set("surplus", IValue());
  EXPECT_THROW(object_from_attributes(type, IValue(state)), Error);
  state->set("name", "n");
  const IValue object = object_from_attributes(type, IValue(state));
  EXPECT_EQ(object.to_object().get("rate").to_float(), 1.0);
  state->set("name", IValue(3));
  try {
    object_from_attributes(type, IValue(state));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "__torch__.Net.name is declared as str, but the file holds a value of type int");
  }
}

}  // namespace
}  // namespace tierup::archive
