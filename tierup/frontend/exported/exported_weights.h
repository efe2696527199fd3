// The weights and constants of an exported program, as tensors over the archive's own bytes.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "tierup/archive/model_archive.h"
#include "tierup/archive/safetensors.h"
#include "tierup/frontend/exported/program_data.h"
#include "tierup/tensor/tensor.h"

namespace tierup::frontend::exported {

// One name in a configuration, and where its bytes lie.
struct WeightPlace {
  std::string name;
  std::string record;
  const Payload* payload;  // Lives as long as the ExportedWeights.
};

// A record that is a pickled dict of tensors, as older versions wrote.
struct PickledWeights {
  std::string record;
  archive::NamedTensors tensors;
};

// Thread rule: used by one thread, during load or while saving.
class ExportedWeights {
 public:
  // Reads the payload configurations (or the pickles of older archives) of `model`.
  ExportedWeights(const archive::ModelArchive& archive, std::string model);

  // The tensor of a fully qualified name. Undefined if the archive holds no data for it (it was
  // saved without weights). Throws kNotFound if the name is in no configuration, kCorruptArchive if
  // its layout needs more than its record has.
  Tensor find(const std::string& name);

  // All that the archive has for this model, in the order of the files.
  std::vector<WeightPlace> places() const;
  const std::vector<PickledWeights>& pickles() const { return pickles_; }

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
  std::vector<PickledWeights> pickles_;
  std::unordered_map<std::string, Ref<Storage>> storages_;  // By record: aliases share.
};

}  // namespace tierup::frontend::exported
