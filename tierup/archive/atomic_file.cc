// Temporary file, fsync, rename, fsync of the folder.
#include "tierup/archive/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "tierup/base/error.h"

namespace tierup::archive {
namespace {

// What one write() call is given: systems take no more than 2 GiB at once.
constexpr size_t kMostBytes = size_t{1} << 30;
constexpr mode_t kAnyWrite = S_IWUSR | S_IWGRP | S_IWOTH;
constexpr mode_t kAllBits = 07777;
// Names of unfinished files, of other threads and of processes that ended in the middle.
constexpr int kMostAttempts = 1000;

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The file behind symbolic links; the path itself if nothing is there yet.
std::string resolved(const std::string& path) {
  std::array<char, PATH_MAX> buffer;
  return realpath(path.c_str(), buffer.data()) != nullptr ? buffer.data() : path;
}

[[noreturn]] void fail_target(const std::string& path, std::string_view reason) {
  fail(ErrorCode::kNotFound, "cannot write {}: {}", path, reason);
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path), target_(resolved(path)) {
  struct stat facts {};
  const bool exists = stat(target_.c_str(), &facts) == 0;
  if (exists) {
    if (!S_ISREG(facts.st_mode)) fail_target(path_, "it is not a regular file");
    if ((facts.st_mode & kAnyWrite) == 0 || access(target_.c_str(), W_OK) != 0) {
      fail_target(path_, "the file is read-only");
    }
  }
  for (int attempt = 0; file_ < 0 && attempt < kMostAttempts; ++attempt) {
    partial_ = fmt::format("{}.{}-{}.partial", target_, getpid(), attempt);
    file_ = open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0 && errno != EEXIST) fail_target(path_, strerror(errno));
  }
  if (file_ < 0) fail_target(path_, "too many unfinished files beside it");
  if (exists && fchmod(file_, facts.st_mode & kAllBits) != 0) {
    const int reason = errno;
    discard();
    fail_io(reason);
  }
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (file_ >= 0) close(file_);
  file_ = -1;
  if (!partial_.empty()) unlink(partial_.c_str());
  partial_.clear();
}

void AtomicFile::fail_io(int reason) const { fail_target(path_, strerror(reason)); }

void AtomicFile::do_write(const char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t done = ::write(file_, bytes, std::min(count, kMostBytes));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_io(errno);
    bytes += done;
    count -= static_cast<size_t>(done);
  }
}

void AtomicFile::commit() {
  if (fsync(file_) != 0) fail_io(errno);
  const int file = file_;
  file_ = -1;
  if (close(file) != 0) fail_io(errno);
  if (rename(partial_.c_str(), target_.c_str()) != 0) fail_io(errno);
  partial_.clear();
  sync_folder();
}

// The new name is there; a file system that cannot sync folders is no reason to fail.
void AtomicFile::sync_folder() const {
  const int folder = open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  fsync(folder);
  close(folder);
}

}  // namespace tierup::archive
