// Nets are compiled ahead for values that lie as the profile saw them: the first call after the job
// is answered by the net, and asks for no other one.
#include "tierup/tier/tiered_graph_fixture.h"

namespace tierup::tier {
namespace {

constexpr int64_t kSide = 64;

class SeenStrides : public TieredGraphFixture {
 protected:
  // Calls of the net that its operators answered, of four after the job.
  uint64_t twin_calls(const Tensor& x) {
    const IValue weight = filled({kSide, kSide}, 0.5);
    make("compile=background,profiled_runs=2,plan_trial=off", kTwoProducts, weight);
    for (int i = 0; i < 2; ++i) call({x, weight});
    tiers_->wait_for_jobs();
    for (int i = 0; i < 4; ++i) call({x, weight});
    uint64_t calls = 0;
    bool has_net = false;
    for (const PlanReport& plan : report().plans) {
      for (const RegionReport& region : plan.regions) {
        has_net |= region.kind == RegionReport::Kind::kNet;
        calls += region.twin_calls;
      }
    }
    EXPECT_TRUE(has_net);
    return calls;
  }
};

TEST_F(SeenStrides, nets_over_contiguous_inputs_answer_at_once) {
  EXPECT_EQ(twin_calls(filled({kSide, kSide}, 1).to_tensor()), 0U);
}

TEST_F(SeenStrides, nets_over_turned_inputs_answer_at_once) {
  const Tensor base = filled({kSide, kSide}, 1).to_tensor();
  EXPECT_EQ(twin_calls(base.as_view(IntVector{kSide, kSide}, IntVector{1, kSide}, 0)), 0U);
}

TEST_F(SeenStrides, nets_over_broadcast_inputs_answer_at_once) {
  const Tensor row = filled({kSide}, 1).to_tensor();
  EXPECT_EQ(twin_calls(row.as_view(IntVector{kSide, kSide}, IntVector{0, 1}, 0)), 0U);
}

}  // namespace
}  // namespace tierup::tier
