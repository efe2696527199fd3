#include "tierup/executor/plugin_package.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tierup/base/error.h"

namespace tierup::executor {
namespace {

namespace fs = std::filesystem;

// Relative, and never upwards: names are the archive's.
bool stays_inside(const fs::path& name) {
  if (name.empty() || name.is_absolute()) return false;
  for (const fs::path& part : name) {
    if (part == "..") return false;
  }
  return true;
}

// What `body` returns, or `otherwise` with the message kept: a plugin may be plain C.
template <typename T, typename Body>
T guarded(tierup_plugin_package* package, T otherwise, Body&& body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    if (package->message.empty()) package->message = error.what();
    return otherwise;
  }
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::error_code ignored;
  fs::path base = fs::temp_directory_path(ignored);
  if (base.empty()) base = "/tmp";
  path_ = (base / "tierup-package-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) {
    const int reason = errno;
    path_.clear();
    fail(ErrorCode::kUnsupported, "no folder for the package's files can be made in {}: {}",
         base.string(), std::strerror(reason));
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void TemporaryFolder::write(const std::string& name, const std::string& bytes) const {
  require(stays_inside(name), ErrorCode::kCorruptArchive,
          "the package's file '{}' would lie outside of its folder", name);
  const fs::path file = fs::path(path_) / name;
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  std::ofstream out(file, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  require(out.good(), ErrorCode::kUnsupported, "cannot write {}: is the disk full?", file.string());
}

const char* package_model(const tierup_plugin_package* package) {
  return package->files.model.c_str();
}

size_t package_file_count(const tierup_plugin_package* package) {
  return package->files.names.size();
}

const char* package_file_name(const tierup_plugin_package* package, size_t index) {
  return index < package->files.names.size() ? package->files.names[index].c_str() : nullptr;
}

int package_file(tierup_plugin_package* package, size_t index, const void** bytes, size_t* size) {
  return guarded<int>(package, TIERUP_PLUGIN_FAILED, [&] {
    require(index < package->files.names.size(), ErrorCode::kOutOfRange,
            "the package has no file {}", index);
    const std::string& content = package->contents.emplace_back(package->files.read(index));
    *bytes = content.data();
    *size = content.size();
    return TIERUP_PLUGIN_OK;
  });
}

const char* package_folder(tierup_plugin_package* package) {
  return guarded<const char*>(package, nullptr, [&] {
    if (package->folder == nullptr) {
      auto folder = std::make_unique<TemporaryFolder>();
      for (size_t i = 0; i < package->files.names.size(); ++i) {
        folder->write(package->files.names[i], package->files.read(i));
      }
      package->folder = std::move(folder);
    }
    return package->folder->path().c_str();
  });
}

int package_convention(tierup_plugin_package* package, const char* arguments, const char* result) {
  return guarded<int>(package, TIERUP_PLUGIN_FAILED, [&] {
    require(arguments != nullptr && result != nullptr, ErrorCode::kInvalidArgument,
            "a package's convention is null");
    package->arguments = arguments;
    package->result = result;
    return TIERUP_PLUGIN_OK;
  });
}

void* package_fail(tierup_plugin_package* package, const char* message) {
  return guarded<void*>(package, nullptr, [&]() -> void* {
    package->message = message == nullptr ? "" : message;
    return nullptr;
  });
}

}  // namespace tierup::executor
