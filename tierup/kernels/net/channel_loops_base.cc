// The channel loops for one instruction set; see channel_loops_body.h.
#include "tierup/kernels/net/channel_loops_body.h"

namespace tierup::kernels::net {

ChannelLoops channel_loops_base() { return kChannelLoops; }

}  // namespace tierup::kernels::net
