// SideThread: a thread beside the caller's that does, one after the other, what it is given.
//
// For what the caller would come to within milliseconds, and can do itself as well. A thread that
// is new or woken is often queued on the core of who made or woke it, and gets one of its own only
// milliseconds later: this one keeps to the cores on which its maker did not run. Where the process
// has one core, there is no thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace tierup {

class SideThread {
 public:
  // Asked to stop, it may leave the rest undone. It must not throw.
  using Work = std::function<void(const std::stop_token& stop)>;

  // Without a thread.
  SideThread() = default;
  // Stops, and waits for the thread's end.
  ~SideThread();
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  // Begins the thread, if the process may use another core and the system gives one. Once.
  void start();
  bool is_running() const { return thread_.joinable(); }
  // Has it done soon, if there is a thread; else never.
  void add(Work work);
  // Ends the thread once it has done what it was given. Waits for nothing.
  void finish();
  // Drops what was not begun, and asks what is being done to stop. Waits for nothing.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> work_;
  bool finishes_ = false;
  std::stop_source stop_;
  int process_ = 0;  // Which began the thread; a forked one has only a copy of this object.
  std::thread thread_;
};

}  // namespace tierup
