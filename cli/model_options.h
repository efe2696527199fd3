// The options that every subcommand with a model shares.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tierup/module.h"

namespace tierup::cli {

struct ModelArguments {
  std::string path;
  int threads = 0;
  uint32_t inter_op_threads = 0;  // 0: as the tiering options say.
  int64_t time_limit_ms = 0;
  int64_t memory_limit_mib = 0;
  int64_t seed = -1;
  bool allow_unsupported = false;
  std::string tiering;
  std::string exported_model;
  std::vector<std::string> plugins;

  void add_to(CLI::App& command);
  v1::Options options() const;
  // What the model prints goes to stdout, or with `prints_aside`, for commands whose report stands
  // there, to stderr. Throws what Module::load throws.
  v1::Module load(bool prints_aside) const;
};

// What is wrong with the text of an option like --tiering; empty: nothing.
std::string tiering_failure(const std::string& text);

}  // namespace tierup::cli
