// Whether the processor gathers right by indices in register 4 (exit code 0). The emulator of
// Debian 12 (QEMU 7.2) takes that register for "no index", as it is with other addresses; oneDNN's
// tanh for AVX2 gathers so, and gives nonsense there. run_emulated.sh then leaves out what asserts
// that nets with it are compiled.
#include <array>
#include <cstddef>

int main() {
  std::array<float, 8> table{};
  for (int i = 0; i < 8; ++i) table[static_cast<std::size_t>(i)] = static_cast<float>(i);
  const std::array<int, 8> places{7, 6, 5, 4, 3, 2, 1, 0};
  std::array<float, 8> gathered{};
  asm volatile(
      "vmovups %1, %%ymm4\n"
      "vpcmpeqd %%ymm0, %%ymm0, %%ymm0\n"
      "vgatherdps %%ymm0, (%2, %%ymm4, 4), %%ymm3\n"
      "vmovups %%ymm3, %0\n"
      "vzeroupper\n"
      : "=m"(gathered)
      : "m"(places), "r"(table.data())
      : "xmm0", "xmm3", "xmm4", "memory");
  for (std::size_t i = 0; i < 8; ++i) {
    if (gathered[i] != static_cast<float>(places[i])) return 1;
  }
  return 0;
}
