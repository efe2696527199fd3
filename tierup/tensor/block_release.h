// BlockRelease: what a storage over an owner's block calls when it goes. Private to the room.
#pragma once

#include "tierup/tensor/block_owner.h"

namespace tierup {

// Trivially copyable and two words long, so that std::function keeps it without an allocation.
// Holds one counted reference, given up by the call.
struct BlockRelease {
  BlockOwner* owner;
  uint32_t block;
  void operator()() const {
    owner->on_release(block);
    const Ref<BlockOwner> last = Ref<BlockOwner>::adopt(owner);
  }
};

}  // namespace tierup
