#include "tierup/base/fork_hooks.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <new>

#include "tierup/base/error.h"

namespace tierup {
namespace {

// How long fork() waits for what others are at.
constexpr std::chrono::milliseconds kLongestWait{1000};

// A thread's depth of ForkUnsafeScopes. Only its own thread writes it, but for the one that threads
// share for which there was no memory.
struct alignas(64) ThreadMark {
  std::atomic<uint32_t> depth{0};
};

// All threads and owners of the process. Lives until the process ends: threads may end after it.
class Process {
 public:
  static Process& instance() {
    static Process& process = *new Process();
    return process;
  }

  void add(const ForkHooks* hooks) {
    const std::lock_guard<std::mutex> lock(hooks_mutex_);
    hooks_.push_back(hooks);
  }
  void remove(const ForkHooks* hooks) {
    const std::lock_guard<std::mutex> lock(hooks_mutex_);
    hooks_.remove(hooks);
  }
  void add(ThreadMark* mark) {
    const std::lock_guard<std::mutex> lock(marks_mutex_);
    marks_.push_back(mark);
  }
  void remove(ThreadMark* mark) {
    const std::lock_guard<std::mutex> lock(marks_mutex_);
    marks_.remove(mark);
  }
  // Always another's: a thread does not know how deep it is in it itself.
  ThreadMark& shared_mark() { return shared_mark_; }
  bool is_broken() const { return is_broken_.load(std::memory_order_relaxed); }

  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  Process() {
    pthread_atfork([] { instance().before_fork(); }, [] { instance().after_fork_in_parent(); },
                   [] { instance().after_fork_in_child(); });
  }
  // Whether a thread but the calling one is inside a scope. The caller holds marks_mutex_.
  bool others_are_inside() const;

  std::mutex hooks_mutex_;
  std::list<const ForkHooks*> hooks_;
  std::mutex marks_mutex_;
  ThreadMark shared_mark_;
  std::list<ThreadMark*> marks_{&shared_mark_};
  std::atomic<bool> is_broken_{false};
};

// A thread is known from its first scope to its end. Its mark is no part of its own memory, which a
// forked child need not have.
struct OwnMark {
  std::unique_ptr<ThreadMark> mark;  // Null if there was no memory for it.
  OwnMark() noexcept {
    try {
      mark = std::make_unique<ThreadMark>();
      Process::instance().add(mark.get());
    } catch (const std::bad_alloc&) {
      mark.reset();
    }
  }
  ~OwnMark() { Process::instance().remove(mark.get()); }
  OwnMark(const OwnMark&) = delete;
  OwnMark& operator=(const OwnMark&) = delete;
};

ThreadMark* own_mark() {
  thread_local OwnMark own;
  return own.mark.get();
}

// One scope more or less.
void change_depth(uint32_t by) {
  ThreadMark* own = own_mark();
  if (own == nullptr) {
    Process::instance().shared_mark().depth.fetch_add(by);
    return;
  }
  own->depth.store(own->depth.load(std::memory_order_relaxed) + by, std::memory_order_release);
}

bool Process::others_are_inside() const {
  const ThreadMark* own = own_mark();
  return std::any_of(marks_.begin(), marks_.end(), [&](const ThreadMark* mark) {
    return mark != own && mark->depth.load(std::memory_order_acquire) > 0;
  });
}

void Process::before_fork() {
  static_cast<void>(own_mark());  // It may be new, and takes a lock then.
  hooks_mutex_.lock();
  for (const ForkHooks* hooks : hooks_) {
    if (hooks->steps().pause) hooks->steps().pause();
  }
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  marks_mutex_.lock();
  while (others_are_inside() && std::chrono::steady_clock::now() < end) {
    marks_mutex_.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    marks_mutex_.lock();
  }
  for (const ForkHooks* hooks : hooks_) hooks->steps().lock();
}

void Process::after_fork_in_parent() {
  for (const ForkHooks* hooks : hooks_) hooks->steps().resume();
  marks_mutex_.unlock();
  hooks_mutex_.unlock();
}

// The memory is that of the moment of the fork: so are the other threads' marks.
void Process::after_fork_in_child() {
  if (others_are_inside()) is_broken_.store(true, std::memory_order_relaxed);
  ThreadMark* own = own_mark();
  shared_mark_.depth.store(0);
  marks_.remove_if([&](const ThreadMark* mark) { return mark != own && mark != &shared_mark_; });
  for (const ForkHooks* hooks : hooks_) hooks->steps().renew();
  marks_mutex_.unlock();
  hooks_mutex_.unlock();
}

}  // namespace

ForkHooks::ForkHooks(Steps steps) : steps_(std::move(steps)) { Process::instance().add(this); }
ForkHooks::~ForkHooks() { Process::instance().remove(this); }

ForkUnsafeScope::ForkUnsafeScope() { change_depth(1); }
ForkUnsafeScope::~ForkUnsafeScope() { change_depth(-1U); }

void require_whole_process() {
  require(!Process::instance().is_broken(), ErrorCode::kUnsupported,
          "this process was forked while another thread was running or compiling a model: models "
          "cannot run in it. Fork before such threads begin, while they rest, or start processes "
          "anew (in Python: the start method 'spawn' or 'forkserver')");
}

}  // namespace tierup
