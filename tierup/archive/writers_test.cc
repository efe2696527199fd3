// What the writers make: files that are there whole or not at all, zips that our reader and others
// take, pickles that come back as the same values.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tierup/archive/atomic_file.h"
#include "tierup/archive/model_archive.h"
#include "tierup/archive/pickle_globals.h"
#include "tierup/archive/state_dict.h"
#include "tierup/archive/torch_save.h"
#include "tierup/archive/zip_builder.h"
#include "tierup/base/error.h"

namespace tierup::archive {
namespace {

namespace fs = std::filesystem;

// A folder of its own, which goes with the test.
class WritersTest : public ::testing::Test {
 protected:
  WritersTest() {
    std::string pattern = ::testing::TempDir() + "tierup_writers_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~WritersTest() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string content(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return std::move(text).str();
  }
  void put_file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  std::string folder_;
};

std::string failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

TEST_F(WritersTest, AFileAppearsWholeOrNotAtAll) {
  put_file("a", "old");
  {
    AtomicFile file(path("a"));
    file.write("half of it");
    EXPECT_EQ(content("a"), "old");
  }
  EXPECT_EQ(content("a"), "old");
  EXPECT_EQ(files(), 1U);
  AtomicFile file(path("a"));
  file.write("new ");
  file.write("content");
  EXPECT_EQ(file.position(), 11U);
  EXPECT_EQ(content("a"), "old");
  file.commit();
  EXPECT_EQ(content("a"), "new content");
  EXPECT_EQ(files(), 1U);
}

TEST_F(WritersTest, ALinkStaysAndPermissionsStay) {
  put_file("real", "old");
  chmod(path("real").c_str(), 0640);
  fs::create_symlink(path("real"), path("link"));
  AtomicFile file(path("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content("real"), "new");
  struct stat facts {};
  ASSERT_EQ(stat(path("real").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0640U);
}

TEST_F(WritersTest, TargetsThatCannotBeWrittenAreRefusedAtOnce) {
  put_file("fixed", "old");
  chmod(path("fixed").c_str(), 0444);
  EXPECT_NE(failure_of([&] { AtomicFile file(path("fixed")); }).find("read-only"),
            std::string::npos);
  EXPECT_NE(failure_of([&] { AtomicFile file(path("none/a")); }).find("No such file"),
            std::string::npos);
  EXPECT_NE(failure_of([&] { AtomicFile file(folder_); }).find("regular"), std::string::npos);
  EXPECT_NE(failure_of([&] { AtomicFile file("/dev/null"); }).find("regular"), std::string::npos);
  EXPECT_EQ(content("fixed"), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(WritersTest, AFileThatMayNotGrowLeavesTheOldOneAndNothingElse) {
  put_file("a", "old");
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string reason = failure_of([&] {
      AtomicFile file(path("a"));
      file.write(std::string(5000, 'x'));
      file.commit();
    });
    _exit(reason.find("File too large") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(content("a"), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(WritersTest, ZipContentsAreAlignedAndComeBack) {
  const std::string text = "some text, again and again, again and again";
  const std::string old_bytes = testing::ZipBuilder()
                                    .add({.name = "m/deflated", .content = text, .deflate = true})
                                    .add("m/stored", text)
                                    .finish();
  const ZipArchive old(own_bytes(old_bytes));
  MemorySink sink;
  ZipWriter zip(sink);
  zip.add("m/empty", "");
  zip.add("m/a", std::string(3, 'a'));
  for (const ZipArchive::Entry& entry : old.entries()) zip.copy(old, entry);
  zip.add("m/b", std::string(1000, 'b'));
  EXPECT_NE(failure_of([&] { zip.add("m/a", "again"); }).find("twice"), std::string::npos);
  zip.finish();
  const std::string bytes = sink.take();
  put_file("a.zip", bytes);
  const ZipArchive archive(own_bytes(bytes));
  ASSERT_EQ(archive.entries().size(), 5U);
  EXPECT_EQ(archive.read(*archive.find("m/empty")), "");
  EXPECT_EQ(archive.read(*archive.find("m/deflated")), text);
  EXPECT_EQ(archive.read(*archive.find("m/stored")), text);
  EXPECT_EQ(archive.read(*archive.find("m/b")), std::string(1000, 'b'));
  EXPECT_TRUE(archive.find("m/deflated")->deflated);
  for (const ZipArchive::Entry& entry : archive.entries()) {
    EXPECT_EQ(archive.data_offset(entry) % 64, 0U) << entry.name;
  }
}

Tensor counted(IntSpan sizes) {
  const Tensor tensor = Tensor::empty(sizes, ScalarType::kFloat);
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.data<float>()[i] = static_cast<float>(i);
  return tensor;
}

TEST_F(WritersTest, StateDictsKeepWhatTheyShare) {
  const Tensor whole = counted(IntVector{4, 3});
  const Tensor part = whole.as_view(IntVector{3, 2}, IntVector{1, 3}, 3);
  const Tensor flags = Tensor::scalar(true);
  write_state_dict(path("s.pt"),
                   {{"whole", whole}, {"part", part}, {"tied", whole}, {"flag", flags}});
  const NamedTensors read = open_state_dict(path("s.pt"));
  ASSERT_EQ(read.size(), 4U);
  EXPECT_EQ(read[0].first, "whole");
  EXPECT_EQ(read[0].second.storage().get(), read[1].second.storage().get());
  EXPECT_TRUE(read[0].second.is_same(read[2].second));
  EXPECT_EQ(read[1].second.offset(), 3);
  EXPECT_EQ(read[1].second.stride(1), 3);
  EXPECT_EQ(read[0].second.data<float>()[11], 11.0F);
  EXPECT_EQ(read[3].second.dtype(), ScalarType::kBool);
  EXPECT_EQ(read[3].second.dim(), 0);
}

// As the archive room alone can read: objects are their attribute dicts.
class StatesOnly final : public ClassResolver {
 public:
  TypePtr resolve(const std::string& name) override { return ClassType::make(name, false); }
  TypePtr parse_type(std::string_view text) override {
    seen_tags.emplace_back(text);
    if (text.starts_with("Dict[")) return Type::dict(Type::str(), Type::any());
    return Type::list(Type::any());
  }
  IValue build_object(const TypePtr& type, IValue state) override {
    seen_classes.push_back(type->name());
    return state;
  }
  std::vector<std::string> seen_tags;
  std::vector<std::string> seen_classes;
};

Ref<ObjectValue> object_of(const IValue& value) {
  const auto type = ClassType::make("__torch__.nets.Net", true);
  type->add_attribute({"value", Type::any()});
  const auto object = make_ref<ObjectValue>(type);
  object->slots[0] = value;
  return object;
}

IValue read_back(PickleWriter& pickle, ClassResolver& classes) {
  const StorageLoader storages = [&](const std::string& key, ScalarType, int64_t) {
    return pickle.storages()[static_cast<size_t>(std::stoi(key))].storage;
  };
  return unpickle(pickle.finish(), classes, storages);
}

TEST_F(WritersTest, ValuesOfEveryKindComeBack) {
  const auto words = make_ref<ListValue>(Type::str());
  words->items = {IValue("a"), IValue(std::string(300, 'b'))};
  const auto table = make_ref<DictValue>(Type::str(), Type::list(Type::str()));
  table->set(IValue("k"), IValue(words));
  const IValue all = make_tuple({IValue(), IValue(true), IValue(7), IValue(int64_t{-70000}),
                                 IValue(int64_t{1} << 40), IValue(0.1), IValue(complex128{1, -2}),
                                 IValue(Device{}), IValue(words), IValue(table), IValue(words),
                                 IValue(make_int_list(IntVector{1, 300})), make_tuple({})});
  PickleWriter pickle(PickleDialect::kTorchScript);
  pickle.value(IValue(object_of(all)), "");
  StatesOnly classes;
  const IValue read = *read_back(pickle, classes).to_dict().find(IValue("value"));
  const std::vector<IValue>& items = read.to_tuple().items;
  ASSERT_EQ(items.size(), 13U);
  EXPECT_TRUE(items[0].is_none());
  EXPECT_TRUE(items[1].is_bool() && items[1].to_bool());
  EXPECT_EQ(items[2].to_int(), 7);
  EXPECT_EQ(items[3].to_int(), -70000);
  EXPECT_EQ(items[4].to_int(), int64_t{1} << 40);
  EXPECT_EQ(items[5].to_float(), 0.1);
  EXPECT_EQ(items[6].to_complex(), (complex128{1, -2}));
  EXPECT_EQ(items[7].to_device().type, DeviceType::kCpu);
  EXPECT_EQ(items[8].to_list().items[1].to_str().size(), 300U);
  EXPECT_TRUE(items[8].is_same(items[10]));
  EXPECT_TRUE(items[9].to_dict().find(IValue("k"))->is_same(items[8]));
  EXPECT_EQ(items[11].to_list().items[1].to_int(), 300);
  EXPECT_TRUE(items[11].to_list().element->is(TypeKind::kInt));
  EXPECT_EQ(classes.seen_classes, std::vector<std::string>{"__torch__.nets.Net"});
  EXPECT_EQ(classes.seen_tags, (std::vector<std::string>{"List[str]", "Dict[str, List[str]]"}));
}

TEST_F(WritersTest, MoreThan256SharedValuesAreStillNamed) {
  const auto list = make_ref<ListValue>(Type::tensor());
  for (int i = 0; i < 300; ++i) list->items.emplace_back(counted(IntVector{1}));
  for (int i = 0; i < 300; ++i) list->items.push_back(list->items[static_cast<size_t>(i)]);
  PickleWriter pickle(PickleDialect::kTorchSave);
  pickle.value(IValue(list), "");
  EXPECT_EQ(pickle.storages().size(), 300U);
  NoClasses classes;
  const IValue read = read_back(pickle, classes);
  EXPECT_TRUE(read.to_list().items[299].is_same(read.to_list().items[599]));
}

TEST_F(WritersTest, WhatNoFileCanHoldIsNamedByItsPath) {
  const auto refused = [](const IValue& value) {
    return failure_of([&] {
      PickleWriter pickle(PickleDialect::kTorchScript);
      const auto holder = make_ref<ListValue>(Type::any());
      holder->items = {IValue(1), value};
      const auto table = make_ref<DictValue>(Type::str(), Type::any());
      table->set(IValue("open"), IValue(holder));
      pickle.value(IValue(object_of(IValue(table))), "");
    });
  };
  EXPECT_NE(refused(IValue(make_ref<FutureValue>(Type::any())))
                .find("'value[open][1]' cannot be saved: it is the result of a fork"),
            std::string::npos);
  EXPECT_NE(refused(IValue::uninitialized()).find("never set"), std::string::npos);
  EXPECT_NE(refused(IValue::capsule(make_ref<PickleMarker>(Global::kSize))).find("host"),
            std::string::npos);
  const auto circle = make_ref<ListValue>(Type::any());
  circle->items.emplace_back(circle);
  EXPECT_NE(refused(IValue(circle)).find("contains itself"), std::string::npos);
  circle->items.clear();
  IValue deep;
  for (int i = 0; i < 600; ++i) deep = make_tuple({deep});
  EXPECT_NE(refused(deep).find("nested deeper"), std::string::npos);
  const auto plain = [](const IValue& value) {
    return failure_of([&] { PickleWriter(PickleDialect::kTorchSave).value(value, "a"); });
  };
  EXPECT_NE(plain(IValue(object_of(IValue(1)))).find("'a' cannot be saved: it is an object"),
            std::string::npos);
  EXPECT_NE(plain(IValue(Tensor::empty(IntVector{2}, ScalarType::kUInt16))).find("safetensors"),
            std::string::npos);
}

}  // namespace
}  // namespace tierup::archive
