#include "tierup/api/model/open_compiled.h"

#include "tierup/frontend/exported/compiled_library.h"

namespace tierup::api {

frontend::exported::CompiledModel open_compiled(const executor::Plugins& plugins,
                                                const archive::ModelArchive& archive,
                                                const std::string& model) {
  const std::string folder = frontend::exported::library_folder(model);
  const std::vector<std::string> records = archive.records(folder);
  executor::PackageFiles files;
  files.model = model;
  for (const std::string& record : records) files.names.push_back(record.substr(folder.size()));
  files.read = [&](size_t index) { return archive.read_record(records[index]); };
  executor::OpenedPackage opened = plugins.open_package(kAotInductor, std::move(files));
  return {opened.op, std::move(opened.group), std::move(opened.arguments),
          std::move(opened.result)};
}

}  // namespace tierup::api
