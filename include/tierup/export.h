// TIERUP_API marks what the shared library exports; everything else stays hidden.
#pragma once

#define TIERUP_API __attribute__((visibility("default")))

// The API's types live in tierup::v1 and are found as tierup::Module and so on. The library's own
// sources have other types of the same names and leave the namespace closed.
namespace tierup {
namespace v1 {}
#ifndef TIERUP_BUILDING
using namespace v1;
#endif
}  // namespace tierup
