#include "tierup/kernels/pointwise_runs.h"

namespace tierup::kernels {
namespace {

constexpr std::array<const char*, static_cast<size_t>(Body::kCount)> kNames = {
#define TIERUP_BODY(name) #name,
#include "tierup/kernels/pointwise_bodies.def"
#undef TIERUP_BODY
};

RunTable make_table() {
  RunTable table;
  add_arithmetic_runs(table);
  add_integer_runs(table);
  add_truth_runs(table);
  add_elementary_runs(table);
  add_activation_runs(table);
  add_complex_runs(table);
  add_special_runs(table);
  return table;
}

}  // namespace

const char* body_name(Body body) { return kNames[static_cast<size_t>(body)]; }

const RunTable& RunTable::instance() {
  static const RunTable table = make_table();
  return table;
}

}  // namespace tierup::kernels
