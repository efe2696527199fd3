#include "tierup/codegen/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

namespace tierup::codegen {
namespace {

constexpr const char* kFileName = "libtierup_codegen.so";

// Beside the object that this code was linked into, or where a program finds its libraries.
std::string default_path() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&default_path), &info) == 0 ||
      info.dli_fname == nullptr) {
    return kFileName;
  }
  const std::string self = info.dli_fname;
  const size_t slash = self.rfind('/');
  const std::string folder =
      slash == std::string::npos ? std::string("./") : self.substr(0, slash + 1);
  for (const char* relative : {"", "../lib/"}) {
    const std::string beside = folder + relative + kFileName;
    if (access(beside.c_str(), R_OK) == 0) return beside;
  }
  return kFileName;
}

}  // namespace

const Library& Library::instance() {
  static const Library library(default_path());
  return library;
}

// The object is never closed: machine code that it made may run until the process ends.
Library::Library(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    error_ = fmt::format("the code generator could not be loaded: {}", dlerror());
    return;
  }
  using Entry = const CodegenApi* (*)(int);
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, "tierup_codegen_api"));
  if (entry != nullptr) api_ = entry(kCodegenApiVersion);
  if (api_ == nullptr) error_ = fmt::format("{} is of another version", path);
}

}  // namespace tierup::codegen
