// FilesAhead: the code files of an archive, read and parsed by several threads at once.
//
// A module of hundreds of classes has a file for each, which the loader asks for one by one, and
// reading them is a third of loading. So a thread beside the loader's goes through all of them in
// the archive's order, which is nearly that in which they are needed; whoever comes to a file first
// parses it. A loader that wants one which is being parsed takes up others meanwhile.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tierup/frontend/torchscript/ast.h"

namespace tierup::frontend::torchscript {

class FilesAhead {
 public:
  // Reads and parses one record. Called from several threads, once for each record unless it
  // throws.
  using Parse = std::function<std::shared_ptr<const FileUnit>(const std::string& record)>;

  FilesAhead(const std::vector<std::string>& records, Parse parse);

  // Parses what nobody has begun, until there is none. Any thread; throws nothing.
  void work(const std::stop_token& stop);

  bool contains(std::string_view record) const { return index_.contains(record); }
  // A file of the list. Throws what parsing it throws.
  std::shared_ptr<const FileUnit> get(std::string_view record);

 private:
  enum class State : uint8_t { kFree, kTaken, kDone, kFailed };
  struct File {
    std::string record;
    std::atomic<State> state{State::kFree};
    std::shared_ptr<const FileUnit> unit;  // Once it is done.
  };

  static bool take(File& file);
  void parse(File& file);
  bool parse_next();

  Parse parse_;
  std::deque<File> files_;
  std::unordered_map<std::string_view, File*> index_;
  std::atomic<size_t> next_{0};  // All files before it were taken.
};

}  // namespace tierup::frontend::torchscript
