#include "tierup/codegen/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace tierup::codegen {
namespace {

constexpr const char* kFileName = "libtierup_codegen.so";

// The file, absolute, that the code at `address` was loaded from; empty if it cannot be told. The
// loader's own name of it may be relative, or what the caller of the program made up (argv[0]): a
// library looked up beside that could be anybody's.
std::string loaded_file(const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    char dash = 0;
    std::istringstream range(line);
    range >> std::hex >> begin >> dash >> end;
    if (wanted < begin || wanted >= end) continue;
    const size_t slash = line.find('/');
    return slash == std::string::npos ? std::string() : line.substr(slash);
  }
  return {};
}

// Beside the object that this code was linked into, or where a program finds its libraries. Empty
// if it is in neither place.
std::string default_path() {
  const std::string self = loaded_file(reinterpret_cast<const void*>(&default_path));
  const std::string folder = self.substr(0, self.rfind('/') + 1);
  if (folder.empty()) return {};
  for (const char* relative : {"", "../lib/", "../" TIERUP_LIBRARY_FOLDER "/"}) {
    std::string beside = folder + relative + kFileName;
    if (access(beside.c_str(), R_OK) == 0) return beside;
  }
  return {};
}

// Lets go of what the loader mapped from the object's file and nobody writes, for
// dl_iterate_phdr(). A debugger's breakpoints in it go as well.
int drop_read_only_pages(dl_phdr_info* object, size_t /*size*/, void* wanted) {
  if (object->dlpi_addr != reinterpret_cast<ElfW(Addr)>(wanted)) return 0;
  const auto page = static_cast<ElfW(Addr)>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const ElfW(Addr) begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const ElfW(Addr) end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 1;
}

}  // namespace

const Library& Library::instance() {
  static const Library library(default_path());
  return library;
}

// The object is never closed: machine code that it made may run until the process ends.
Library::Library(const std::string& path) {
  if (path.empty()) {
    error_ = fmt::format(
        "the code generator could not be loaded: there is no {} beside the program or library",
        kFileName);
    return;
  }
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

void Library::give_back_pages() const {
  Dl_info object{};
  if (api_ == nullptr || dladdr(api_, &object) == 0) return;
  dl_iterate_phdr(&drop_read_only_pages, object.dli_fbase);
}

}  // namespace tierup::codegen
