// SourceIndex: the code files of one archive, parsed when first asked for, or ahead of that by a
// thread beside.
//
// Qualified name `Q.N` stands in record "code/" + Q with slashes + ".py". A missing file is no
// error: the qualifier then is a namespace, or nothing. Thread rule: one loader at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tierup/frontend/torchscript/ast.h"
#include "tierup/frontend/torchscript/files_ahead.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::frontend::torchscript {

class SourceIndex {
 public:
  // The text of record "code/__torch__.py", or nullopt if the archive has none of that name.
  using ReadText = std::function<std::optional<std::string>(const std::string& record)>;
  // The unpickled debug table of a code record ("code/__torch__.py.debug_pkl"), or nullopt. Called
  // when a place is first shown, from any thread; what it throws is taken for nullopt.
  using ReadDebug = std::function<std::optional<IValue>(const std::string& record)>;

  explicit SourceIndex(ReadText read_text, ReadDebug read_debug = nullptr);

  // Has these records, which are there, parsed ahead by who calls the result's work(). From then
  // on, the text and no debug table is read from several threads. Before anything is asked for.
  std::shared_ptr<FilesAhead> parse_ahead(const std::vector<std::string>& records);

  // A definition with the file that owns it. At most one of the two is set.
  struct Definition {
    std::shared_ptr<const FileUnit> unit;
    const ClassDef* class_def = nullptr;
    const FunctionDef* function = nullptr;
    explicit operator bool() const { return class_def != nullptr || function != nullptr; }
  };

  // The parsed file of qualifier "__torch__.torch.nn"; null if there is none. Throws kSyntax.
  std::shared_ptr<const FileUnit> file(std::string_view qualifier);
  // The class, else the function, of a qualified name; empty if it is neither.
  Definition find(std::string_view qualified_name);

  // "__torch__.a" -> "code/__torch__/a.py".
  static std::string record_name(std::string_view qualifier);

 private:
  static std::shared_ptr<const FileUnit> parse(const ReadText& read_text,
                                               const ReadDebug& read_debug,
                                               const std::string& record);

  ReadText read_text_;
  ReadDebug read_debug_;
  std::shared_ptr<FilesAhead> ahead_;
  std::unordered_map<std::string, std::shared_ptr<const FileUnit>> files_;
};

// "a.b.___torch_mangle_3.C" -> "a.b.C": for display only, the mangled name is the name.
std::string demangled(std::string_view qualified_name);

}  // namespace tierup::frontend::torchscript
