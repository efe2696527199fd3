// Checkpoints: a module's weights, its optimisers, schedules and random stream, in one file.
//
// The layout is what torch.save writes for {"model": state_dict, "optimizers": {name: state_dict},
// "schedules": {name: state_dict}, "rng": get_rng_state(), "epoch": int, ...} and
// torch.load(weights_only=True) reads; files of either side go on at the other.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tierup/archive/safetensors.h"
#include "tierup/kernels/random/generator.h"
#include "tierup/tensor/ivalue.h"
#include "tierup/training/schedule.h"

namespace tierup::training {

struct Checkpoint {
  archive::NamedTensors model;
  std::vector<std::pair<std::string, IValue>> optimizers;  // Optimizer::state_dict().
  std::vector<std::pair<std::string, IValue>> schedules;   // Schedule::state_dict().
  std::string generator;                                   // Generator::state(); empty: none.
  int64_t epoch = 0;                                       // Epochs that are done.
  // Whatever else is to be kept: numbers, texts, lists of them.
  std::vector<std::pair<std::string, IValue>> extra;
};

// Writes the file whole or not at all. Throws kNotFound if it cannot be written, kUnsupported for
// what no file can hold.
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);

// Throws kNotFound, kCorruptArchive (cut short, broken), and kUnsupported for a file that is no
// checkpoint of this layout, saying what it is.
Checkpoint load_checkpoint(const std::string& path);

// What a checkpoint of one optimiser goes back into.
struct RestoreTarget {
  archive::NamedTensors state;  // The module's own tensors.
  Optimizer* optimizer;
  Schedule* schedule;  // Null: none.
  kernels::Generator* generator;
};

// Copies everything back. `path` is for errors: kInvalidArgument for a checkpoint of another module
// (all differences listed), optimiser or schedule, before anything changes.
void restore(const Checkpoint& saved, const std::string& path, const RestoreTarget& target);

// Copies tensors into those of the same name.
void copy_state(const archive::NamedTensors& from, const archive::NamedTensors& to);

}  // namespace tierup::training
