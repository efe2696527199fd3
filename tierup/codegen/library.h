// Library: the code generator's shared object, loaded on first need.
//
// Loading it brings LLVM into the process (tens of milliseconds), so only compile jobs ask for it.
// Between jobs the process need not hold LLVM's code, of which compiling touches some 20 MiB.
#pragma once

#include <string>

#include "tierup/codegen/codegen_api.h"

namespace tierup::codegen {

class Library {
 public:
  // The one beside this program or library, or in the folder of libraries beside it; never one that
  // the working folder or the loader's path may name. Loaded by the first call.
  static const Library& instance();
  // A given file. What cannot be loaded gives a library without an api, and why.
  explicit Library(const std::string& path);

  // Null if it could not be loaded.
  const CodegenApi* api() const { return api_; }
  const std::string& error() const { return error_; }
  // Lets go of the pages of the object's code and constants: whoever needs them next finds them in
  // the system's cache of files. Any thread, also while others compile.
  void give_back_pages() const;

 private:
  const CodegenApi* api_ = nullptr;
  std::string error_;
};

}  // namespace tierup::codegen
