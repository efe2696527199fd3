// A model's compiled library, from its archive into the hands of a plugin's delegate.
#pragma once

#include <string>
#include <string_view>

#include "tierup/executor/delegation.h"
#include "tierup/frontend/exported/exported_program.h"

namespace tierup::api {

// What PyTorch's ahead-of-time compiler writes.
inline constexpr std::string_view kAotInductor = "aotinductor";

// Throws as Plugins::open_package.
frontend::exported::CompiledModel open_compiled(const executor::Plugins& plugins,
                                                const archive::ModelArchive& archive,
                                                const std::string& model);

}  // namespace tierup::api
