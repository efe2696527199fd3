// Convolution of channels for one instruction set; see channel_convolution_body.h.
#include "tierup/kernels/net/channel_convolution_body.h"

namespace tierup::kernels::net {

ChannelLineFn channel_line_avx512() { return &run_channel_line; }

}  // namespace tierup::kernels::net
