// The host's side of one call into a plugin, and the table of functions that plugins get.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "tierup/plugin.h"
#include "tierup/tensor/ivalue.h"

// What the plugin holds a pointer to. Thread rule: one call, one thread.
struct tierup_plugin_call {
  std::span<tierup::IValue> args;
  std::span<tierup::IValue> results;
  std::deque<tierup::Tensor> kept;  // What the plugin was given views of.
  std::string message;
};

namespace tierup::executor {

const tierup_host& plugin_host();

// Throws kInvalidArgument with the message of the plugin, after `name`, unless the status is OK.
void check_status(int status, const tierup_plugin_call& call, std::string_view name);

}  // namespace tierup::executor
