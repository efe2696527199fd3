// Loads the model named on the command line and runs it on ones.
#include <tierup/tierup.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    const tierup::Module module = tierup::Module::load(argv[1]);
    const std::vector<int64_t> shape = {std::atoll(argv[2]), std::atoll(argv[3])};
    const std::vector<float> ones(static_cast<size_t>(shape[0] * shape[1]), 1.0F);
    const tierup::Tensor result =
        module({tierup::Tensor::of<float>(ones, shape)}).to_tensor().contiguous();
    std::printf("%s\n", result.describe().c_str());
    for (int64_t i = 0; i < result.element_count(); ++i) {
      std::printf("%g ", static_cast<double>(result.data<float>()[i]));
    }
    std::printf("\n");
    module.run("no_such_method", {});
  } catch (const tierup::Error& error) {
    std::printf("error: %s\n", error.message().c_str());
    return error.code() == tierup::ErrorCode::kNotFound ? 0 : 1;
  }
  return 1;
}
