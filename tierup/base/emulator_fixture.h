// For tests of what QEMU itself cannot do for a program that it runs.
#pragma once

#include <fstream>
#include <string>

namespace tierup {

// Whether QEMU runs this process, whose name is the emulator's then.
inline bool is_emulated() {
  std::ifstream file("/proc/self/comm");
  std::string name;
  std::getline(file, name);
  return name.starts_with("qemu-");
}

}  // namespace tierup
