// Archives that PyTorch wrote (tools/make_archive_fixtures.py), read as the archive room alone can:
// objects are their attribute dicts.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "tierup/archive/model_archive.h"
#include "tierup/archive/state_dict.h"
#include "tierup/archive/type_restorer.h"
#include "tierup/archive/zip_builder.h"
#include "tierup/base/error.h"

namespace tierup::archive {
namespace {

using testing::ZipBuilder;

// Leaves objects as their states and enum members as their values; types of tags stay unknown.
class StatesOnly final : public ClassResolver {
 public:
  TypePtr resolve(const std::string& name) override {
    if (name.ends_with(".Color")) return color_;
    return ClassType::make(name, true);
  }
  TypePtr parse_type(std::string_view text) override {
    if (text.starts_with("Dict[")) return Type::dict(Type::any(), Type::any());
    return Type::list(Type::any());
  }
  IValue build_object(const TypePtr&, IValue state) override { return state; }
  IValue enum_member(const TypePtr&, const IValue& value) override { return value; }

 private:
  TypePtr color_ = EnumType::make("__torch__.Color", Type::integer());
};

std::string path_of(const std::string& name) { return "tests/data/archive/" + name + ".pt"; }

std::string bytes_of(const std::string& name) {
  std::ifstream file(path_of(name), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

IValue root_of(const ModelArchive& archive) {
  StatesOnly classes;
  archive.unpickle("constants", classes);
  return archive.unpickle("data", classes);
}
IValue root_of(const std::string& name) { return root_of(*ModelArchive::open(path_of(name))); }

IValue attribute(const IValue& state, const char* name) {
  const IValue* value = state.to_dict().find(IValue(name));
  return value == nullptr ? IValue("missing") : *value;
}

// All records again, under another root, deflated and without alignment.
std::string rezipped(const ModelArchive& archive, bool zip64) {
  ZipBuilder builder;
  builder.add("another root/", "");
  for (const auto& entry : archive.zip().entries()) {
    builder.add({.name = "another root" + entry.name.substr(archive.root().size()),
                 .content = archive.zip().read(entry),
                 .deflate = !zip64,
                 .zip64 = zip64,
                 .alignment = 1});
  }
  return builder.finish();
}

void expect_attributes(const IValue& state) {
  const Tensor weight = attribute(state, "weight").to_tensor();
  EXPECT_EQ(weight.describe(), "Float[4, 3]");
  EXPECT_TRUE(weight.requires_grad());
  EXPECT_EQ(weight.data<float>()[11], 11.f);
  EXPECT_FALSE(attribute(state, "bias").to_tensor().requires_grad());
  EXPECT_EQ(*attribute(state, "steps").to_tensor().data<int64_t>(), 7);
  EXPECT_EQ(attribute(state, "i").to_int(), 3);
  EXPECT_EQ(attribute(state, "f").to_float(), 2.5);
  EXPECT_TRUE(attribute(state, "b").to_bool());
  EXPECT_EQ(attribute(state, "s").to_str(), std::string("text ü\0end", 11));
  EXPECT_EQ(attribute(state, "ints").type()->to_string(), "List[int]");
  EXPECT_EQ(attribute(state, "floats").type()->to_string(), "List[float]");
  EXPECT_EQ(attribute(state, "bools").type()->to_string(), "List[bool]");
  EXPECT_EQ(attribute(state, "tensors").type()->to_string(), "List[Tensor]");
  EXPECT_EQ(to_text(attribute(state, "strs")), "[a, b]");
  EXPECT_EQ(to_text(attribute(state, "table")), "{one: 1, two: 2}");
  EXPECT_EQ(attribute(state, "pair").to_tuple().items.size(), 3u);
  EXPECT_EQ(attribute(state, "device").to_device().to_string(), "cuda:1");
  EXPECT_EQ(attribute(state, "dtype").to_int(), 5);
  EXPECT_EQ(attribute(state, "z").to_complex(), complex128(1, 2));
  EXPECT_TRUE(attribute(state, "nothing").is_none());
  EXPECT_TRUE(attribute(state, "training").to_bool());
}

TEST(Fixtures, reads_attributes_of_every_type) {
  const Ref<ModelArchive> archive = ModelArchive::open(path_of("attributes"));
  EXPECT_EQ(archive->kind(), ArchiveKind::kTorchScript);
  EXPECT_EQ(archive->root(), "attributes");
  EXPECT_EQ(archive->version(), 3);
  const IValue state = root_of(*archive);
  expect_attributes(state);
  EXPECT_FALSE(attribute(state, "weight").to_tensor().storage()->owns_memory());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(attribute(state, "weight").to_tensor().raw()) % 64, 0u);
}

TEST(Fixtures, reads_the_same_from_other_zip_layouts_and_sources) {
  const Ref<ModelArchive> archive = ModelArchive::open(path_of("attributes"));
  expect_attributes(root_of(*ModelArchive::read(own_bytes(rezipped(*archive, false)))));
  expect_attributes(root_of(*ModelArchive::read(own_bytes(rezipped(*archive, true)))));
  const std::string bytes = bytes_of("attributes");
  IValue state;
  {
    const std::string temporary = bytes;
    state = root_of(*ModelArchive::read(borrow_bytes(std::as_bytes(std::span(temporary)))));
  }
  expect_attributes(state);
  const auto read = [&](uint64_t at, std::span<std::byte> out) {
    std::memcpy(out.data(), bytes.data() + at, out.size());
  };
  expect_attributes(root_of(*ModelArchive::read(callback_source(bytes.size(), read))));
}

TEST(Fixtures, keeps_views_and_tied_weights_in_one_storage) {
  const IValue state = root_of("views");
  const Tensor base = attribute(state, "base").to_tensor();
  for (const char* name : {"tied", "turned", "part", "strided", "spread"}) {
    EXPECT_EQ(attribute(state, name).to_tensor().storage(), base.storage()) << name;
  }
  base.data<float>()[10] = 100.f;
  EXPECT_EQ(*attribute(state, "strided").to_tensor().data<float>(), 3.f);
  EXPECT_EQ(attribute(state, "strided").to_tensor().data<float>()[7], 100.f);
  EXPECT_EQ(attribute(state, "turned").to_tensor().stride(0), 1);
  EXPECT_EQ(attribute(state, "spread").to_tensor().stride(0), 0);
  EXPECT_EQ(attribute(state, "scalar").to_tensor().dim(), 0);
  EXPECT_EQ(attribute(state, "empty").to_tensor().describe(), "Float[0, 3]");
  EXPECT_EQ(attribute(state, "hollow").to_tensor().describe(), "Float[2, 0, 4]");
  EXPECT_EQ(attribute(state, "behind").to_tensor().describe(), "Float[0, 4]");
  // The write above stayed in this process.
  EXPECT_EQ(attribute(root_of("views"), "base").to_tensor().data<float>()[10], 10.f);
}

TEST(Fixtures, reads_every_dtype) {
  const IValue state = root_of("dtypes");
  int count = 0;
  for (const auto& [key, value] : state.to_dict().entries()) {
    if (!key.to_str().starts_with("t_")) continue;
    ++count;
    EXPECT_EQ(dtype_name(value.to_tensor().dtype()), key.to_str().substr(2));
    EXPECT_EQ(value.to_tensor().numel(), 2);
  }
  EXPECT_EQ(count, 18);
}

TEST(Fixtures, keeps_conjugate_and_negative_bits) {
  const IValue state = root_of("math_bits");
  EXPECT_TRUE(attribute(state, "conjugated").to_tensor().impl()->conjugate);
  EXPECT_TRUE(attribute(state, "negated").to_tensor().impl()->negative);
  EXPECT_FALSE(attribute(state, "plain").to_tensor().impl()->conjugate);
}

TEST(Fixtures, reads_numbers_at_the_edges) {
  const IValue state = root_of("numbers");
  const int64_t two31 = int64_t{1} << 31;
  const int64_t two62 = int64_t{1} << 62;
  const int64_t wanted[] = {0,
                            255,
                            256,
                            65535,
                            65536,
                            two31 - 1,
                            two31,
                            -1,
                            -two31,
                            -two31 - 1,
                            two62,
                            -two62,
                            std::numeric_limits<int64_t>::min()};
  const auto& ints = attribute(state, "ints").to_list().items;
  ASSERT_EQ(ints.size(), std::size(wanted));
  for (size_t i = 0; i < ints.size(); ++i) EXPECT_EQ(ints[i].to_int(), wanted[i]);
  const auto& floats = attribute(state, "floats").to_list().items;
  EXPECT_FALSE(std::signbit(floats[0].to_float()));
  EXPECT_TRUE(std::signbit(floats[1].to_float()));
  EXPECT_EQ(floats[2].to_float(), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(floats[4].to_float()));
  EXPECT_EQ(floats[5].to_float(), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(floats[6].to_float(), 0.1);
}

TEST(Fixtures, follows_more_than_256_memo_entries) {
  const IValue words = attribute(root_of("memo"), "words");
  ASSERT_EQ(words.to_list().items.size(), 600u);
  EXPECT_EQ(words.to_list().items[299].to_str(), "word299");
  EXPECT_EQ(words.to_list().items[599].to_str(), "word299");
}

TEST(Fixtures, gives_declared_types_to_tagged_and_untagged_values) {
  const IValue state = root_of("tags");
  const TypePtr point =
      Type::named_tuple("__torch__.Point", {"x", "y"}, {Type::integer(), Type::floating()});
  const IValue points = attribute(state, "points");
  TypeRestorer restorer;
  restorer.restore(points, Type::dict(Type::str(), point), "points");
  EXPECT_EQ(points.to_dict().find(IValue("a"))->to_tuple().named->name(), "__torch__.Point");
  const TypePtr declared = Type::tuple({point, Type::list(Type::integer())});
  const IValue mixed = restorer.restore(attribute(state, "mixed"), declared, "mixed");
  EXPECT_NE(mixed.to_tuple().items[0].to_tuple().named, nullptr);
  EXPECT_EQ(mixed.to_tuple().items[1].type()->to_string(), "List[int]");
  EXPECT_EQ(attribute(state, "colors").to_list().items[1].to_int(), 2);
  const IValue nested = attribute(state, "nested");
  EXPECT_EQ(nested.to_list().items[2].type()->to_string(), "List[int]");
  EXPECT_THROW(restorer.restore(nested, Type::list(Type::str()), "nested"), Error);
}

TEST(Fixtures, keeps_one_list_shared_by_two_attributes) {
  const IValue state = root_of("shared");
  EXPECT_TRUE(attribute(state, "a").is_same(attribute(state, "b")));
}

TEST(Fixtures, lists_extra_files_by_their_nested_names) {
  const Ref<ModelArchive> archive = ModelArchive::open(path_of("extra"));
  EXPECT_EQ(archive->records("extra/"),
            (std::vector<std::string>{"extra/deep/er/notes", "extra/notes.txt"}));
  EXPECT_EQ(archive->read_record("extra/notes.txt"), "hello");
  EXPECT_EQ(archive->read_record("extra/deep/er/notes"), std::string("\0\1", 2));
}

TEST(Fixtures, reads_state_dicts_and_checkpoints) {
  const NamedTensors plain = open_state_dict(path_of("state_dict"));
  ASSERT_EQ(plain.size(), 7u);
  EXPECT_EQ(plain[0].first, "0.weight");
  EXPECT_EQ(plain[0].second.describe(), "Float[2, 3]");
  EXPECT_EQ(plain[1].second.data<float>()[1], 2.f);
  EXPECT_EQ(plain[6].first, "1.num_batches_tracked");
  const NamedTensors nested = open_state_dict(path_of("checkpoint"));
  ASSERT_EQ(nested.size(), 7u);
  EXPECT_EQ(nested[6].first, "1.num_batches_tracked");
}

}  // namespace
}  // namespace tierup::archive
