// AtomicFile: a file that is there whole or not at all.
//
// Bytes go to a temporary file beside the target, which takes the target's name only once it is
// complete and on the disk. A crash, a full disk or an exception on the way leaves the old file as
// it was, also for whoever has it mapped.
#pragma once

#include <cstddef>
#include <string>

#include "tierup/archive/byte_sink.h"

namespace tierup::archive {

// Thread rule: used by one thread.
class AtomicFile final : public ByteSink {
 public:
  // Opens the temporary file. A symbolic link stays one: what it points to is replaced. Throws
  // kNotFound, naming the path and the system's reason, if the target cannot be made or replaced:
  // its folder is missing, or it is read-only, or no regular file.
  explicit AtomicFile(const std::string& path);
  // Removes the temporary file unless commit() was reached.
  ~AtomicFile() override;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Has the disk hold everything, then takes the target's name. Throws kNotFound.
  void commit();

 private:
  void do_write(const char* bytes, size_t count) override;
  [[noreturn]] void fail_io(int reason) const;
  void sync_folder() const;
  void discard();

  std::string path_;     // What the caller called it.
  std::string target_;   // Without symbolic links.
  std::string partial_;  // Empty once there is nothing to remove.
  int file_ = -1;
};

}  // namespace tierup::archive
