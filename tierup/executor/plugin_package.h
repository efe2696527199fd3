// A model that stands in an archive compiled already, as a delegate sees it: files by name.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tierup/plugin.h"

namespace tierup::executor {

// What the host was given; `read` gives a file's bytes and may throw.
struct PackageFiles {
  std::string model;
  std::vector<std::string> names;
  std::function<std::string(size_t)> read;
};

// A folder of this process alone, which goes with the object.
class TemporaryFolder {
 public:
  // Throws kUnsupported if none can be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  // Throws kCorruptArchive for a name that leads out of the folder, kUnsupported if it cannot be
  // written.
  void write(const std::string& name, const std::string& bytes) const;

 private:
  std::string path_;
};

// Of tierup_host.
const char* package_model(const tierup_plugin_package* package);
size_t package_file_count(const tierup_plugin_package* package);
const char* package_file_name(const tierup_plugin_package* package, size_t index);
int package_file(tierup_plugin_package* package, size_t index, const void** bytes, size_t* size);
const char* package_folder(tierup_plugin_package* package);
int package_convention(tierup_plugin_package* package, const char* arguments, const char* result);
void* package_fail(tierup_plugin_package* package, const char* message);

}  // namespace tierup::executor

struct tierup_plugin_package {
  tierup::executor::PackageFiles files;
  std::deque<std::string> contents;  // Of the files that were asked for.
  std::unique_ptr<tierup::executor::TemporaryFolder> folder;
  std::string arguments;
  std::string result;
  std::string message;
};
