#include "isolated_worker.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "failure.h"

#ifdef TIERUP_COVERAGE
extern "C" {
#include <gcov.h>
}
#endif

namespace tierup::cli {
namespace {

using api::CaseOutcome;

enum class RecordKind : uint8_t { kBegin, kEnd, kItemDone };

// What travels over the pipe, followed by `length` bytes of text.
struct Record {
  RecordKind kind;
  CaseOutcome::Status status;
  uint32_t item;
  uint32_t index;
  uint32_t length;
};

// Where the run stands: the next case to be run.
struct Position {
  size_t item = 0;
  size_t index = 0;
};

using Emit = std::function<void(RecordKind kind, Position at, CaseOutcome::Status status,
                                const std::string& text)>;

CaseOutcome run_guarded(CheckItem& item, size_t index) {
  try {
    return item.run(index);
  } catch (const v1::Error& error) {
    return CaseOutcome::of_error(error);
  } catch (const std::exception& error) {
    return CaseOutcome::failed(fmt::format("unexpected exception: {}", error.what()));
  }
}

void run_item(CheckItem& item, Position from, const Emit& emit) {
  const auto report = [&](Position at, const std::string& label, const CaseOutcome& outcome) {
    static_cast<void>(label);
    emit(RecordKind::kEnd, at, outcome.status, outcome.reason);
  };
  size_t count = 0;
  emit(RecordKind::kBegin, from, CaseOutcome::Status::kFailed, item.name());
  try {
    count = item.open();
  } catch (const v1::Error& error) {
    report(from, item.name(), CaseOutcome::of_error(error));
    return;
  } catch (const std::exception& error) {
    report(from, item.name(), CaseOutcome::failed(error.what()));
    return;
  }
  for (Position at = from; at.index < count; ++at.index) {
    const std::string label = item.label(at.index);
    emit(RecordKind::kBegin, at, CaseOutcome::Status::kFailed, label);
    report(at, label, run_guarded(item, at.index));
  }
  item.close();
}

void run_all(const std::vector<std::unique_ptr<CheckItem>>& items, Position from,
             const Emit& emit) {
  for (; from.item < items.size(); from = {from.item + 1, 0}) {
    run_item(*items[from.item], from, emit);
    emit(RecordKind::kItemDone, from, CaseOutcome::Status::kPassed, {});
  }
}

bool write_all(int descriptor, const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(descriptor, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    bytes -= static_cast<size_t>(written);
  }
  return true;
}

// 0 bytes at the end of the stream; -1 when `timeout_ms` passed without data.
ssize_t read_some(int descriptor, char* data, size_t bytes, int timeout_ms) {
  for (;;) {
    pollfd waiting{descriptor, POLLIN, 0};
    const int ready = poll(&waiting, 1, timeout_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return -1;
    const ssize_t got = read(descriptor, data, bytes);
    if (got < 0 && errno == EINTR) continue;
    return got < 0 ? 0 : got;
  }
}

// The parent's end: turns records into reports and remembers the case that has begun.
class Reader {
 public:
  Reader(const std::vector<std::unique_ptr<CheckItem>>& items, const CaseReport& report,
         Position from)
      : items_(items), report_(report), at_(from) {}

  void feed(const char* data, size_t bytes) {
    buffer_.append(data, bytes);
    size_t consumed = 0;
    Record record;
    while (buffer_.size() - consumed >= sizeof(record)) {
      std::memcpy(&record, buffer_.data() + consumed, sizeof(record));
      if (buffer_.size() - consumed < sizeof(record) + record.length) break;
      take(record, buffer_.substr(consumed + sizeof(record), record.length));
      consumed += sizeof(record) + record.length;
    }
    buffer_.erase(0, consumed);
  }

  bool is_finished() const { return at_.item >= items_.size(); }
  Position position() const { return at_; }

  // Reports the case at hand as failed and steps behind it.
  void give_up(const std::string& reason) {
    report_(*items_[at_.item], label_.empty() ? items_[at_.item]->name() : label_,
            CaseOutcome::failed(reason));
    // A crash before the first case has begun lies in opening the file: leave the item.
    at_ = in_case_ ? Position{at_.item, at_.index + 1} : Position{at_.item + 1, 0};
    label_.clear();
    in_case_ = false;
  }

 private:
  void take(const Record& record, const std::string& text) {
    const CheckItem& item = *items_[record.item];
    switch (record.kind) {
      case RecordKind::kBegin:
        at_ = {record.item, record.index};
        in_case_ = text != item.name();
        label_ = text;
        break;
      case RecordKind::kEnd:
        report_(item, label_, {record.status, text});
        at_ = {record.item, record.index + 1};
        label_.clear();
        in_case_ = false;
        break;
      case RecordKind::kItemDone:
        at_ = {record.item + 1, 0};
        label_.clear();
        in_case_ = false;
        break;
    }
  }

  const std::vector<std::unique_ptr<CheckItem>>& items_;
  const CaseReport& report_;
  Position at_;
  bool in_case_ = false;
  std::string label_;
  std::string buffer_;
};

[[noreturn]] void run_child(const std::vector<std::unique_ptr<CheckItem>>& items, Position from,
                            int descriptor) {
  run_all(items, from,
          [&](RecordKind kind, Position at, CaseOutcome::Status status, const std::string& text) {
            const Record record{kind, status, static_cast<uint32_t>(at.item),
                                static_cast<uint32_t>(at.index),
                                static_cast<uint32_t>(text.size())};
            std::string message(reinterpret_cast<const char*>(&record), sizeof(record));
            message += text;
            if (!write_all(descriptor, message.data(), message.size())) _exit(1);
          });
#ifdef TIERUP_COVERAGE
  __gcov_dump();  // Counts are written by exit() alone.
#endif
  _exit(0);
}

// Runs one child until it ends; true if it did all it had to.
std::string watch_child(pid_t child, int descriptor, int timeout_s, Reader& reader) {
  char data[65536];
  bool timed_out = false;
  for (;;) {
    const ssize_t got = read_some(descriptor, data, sizeof(data), timeout_s * 1000);
    if (got < 0) {
      timed_out = true;
      kill(child, SIGKILL);
      break;
    }
    if (got == 0) break;
    reader.feed(data, static_cast<size_t>(got));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (timed_out) return fmt::format("no result after {} s", timeout_s);
  if (WIFSIGNALED(status)) {
    return fmt::format("crashed with signal {} ({})", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  }
  return fmt::format("ended the process with status {}", WEXITSTATUS(status));
}

}  // namespace

void run_cases(const std::vector<std::unique_ptr<CheckItem>>& items,
               const IsolationOptions& options, const CaseReport& report) {
  if (!options.isolated) {
    std::string label;
    run_all(items, {},
            [&](RecordKind kind, Position at, CaseOutcome::Status status, const std::string& text) {
              if (kind == RecordKind::kBegin) label = text;
              if (kind == RecordKind::kEnd) report(*items[at.item], label, {status, text});
            });
    return;
  }
  Position from;
  while (from.item < items.size()) {
    int ends[2];
    require(pipe(ends) == 0, v1::ErrorCode::kOutOfMemory, "cannot make a pipe: {}",
            strerror(errno));
    fflush(nullptr);
    const pid_t child = fork();
    require(child >= 0, v1::ErrorCode::kOutOfMemory, "cannot start a process: {}", strerror(errno));
    if (child == 0) {
      close(ends[0]);
      run_child(items, from, ends[1]);
    }
    close(ends[1]);
    Reader reader(items, report, from);
    const std::string ending = watch_child(child, ends[0], options.case_timeout_s, reader);
    close(ends[0]);
    if (!reader.is_finished()) reader.give_up(ending);
    from = reader.position();
  }
}

}  // namespace tierup::cli
