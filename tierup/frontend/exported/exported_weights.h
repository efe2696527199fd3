// The weights and constants of an exported program, as tensors over the archive's own bytes.
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "tierup/archive/model_archive.h"
#include "tierup/frontend/exported/program_data.h"
#include "tierup/tensor/tensor.h"

namespace tierup::frontend::exported {

// Thread rule: used by one thread, during load.
class ExportedWeights {
 public:
  // Reads the payload configurations (or the pickles of older archives) of `model`.
  ExportedWeights(const archive::ModelArchive& archive, std::string model);

  // The tensor of a fully qualified name. Undefined if the archive holds no data for it (it was
  // saved without weights). Throws kNotFound if the name is in no configuration, kCorruptArchive if
  // its layout needs more than its record has.
  Tensor find(const std::string& name);

 private:
  struct Table {
    PayloadConfig config;
    std::string folder;  // "data/weights/" or "data/constants/".
  };
  void read_tables();
  void read_pickle(const std::string& record);
  Tensor from_payload(const std::string& name, const Payload& payload, const std::string& folder);

  const archive::ModelArchive& archive_;
  std::string model_;
  std::vector<Table> tables_;
  std::map<std::string, Tensor> pickled_;
  std::unordered_map<std::string, Ref<Storage>> storages_;  // By record: aliases share.
};

}  // namespace tierup::frontend::exported
