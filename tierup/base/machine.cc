// Control groups stand in folders, one in another. /proc/self/cgroup names the process's own by its
// path from the root of the hierarchy, /proc/self/mountinfo tells which folder of the hierarchy is
// mounted where. A limit of a group holds for all groups in it, so each folder on the way up to the
// mounted one is asked.
#include "tierup/base/machine.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <string_view>
#include <vector>

namespace tierup {
namespace {

struct Mount {
  std::string top;      // The folder of the hierarchy that is mounted.
  std::string folder;   // Where.
  std::string type;     // "cgroup2", or "cgroup" with
  std::string options;  // controllers among them.
};

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = text.find(at);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool lists(std::string_view controllers, std::string_view wanted) {
  const std::vector<std::string> names = split(controllers, ',');
  return std::find(names.begin(), names.end(), wanted) != names.end();
}

// "31 23 0:28 / /sys/fs/cgroup rw shared:1 - cgroup2 cgroup2 rw": what is optional ends at the
// dash.
std::vector<Mount> read_mounts(const std::string& root) {
  std::vector<Mount> mounts;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> fields = split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 5 || fields.end() - dash < 4) continue;
    mounts.push_back({fields[3], fields[4], *(dash + 1), *(dash + 3)});
  }
  return mounts;
}

// The least of `quota_in` over the group's folder and those around it.
template <typename QuotaIn>
double least_quota(const std::string& root, const Mount& mount, std::string group,
                   const QuotaIn& quota_in) {
  if (mount.top != "/" && (group + "/").starts_with(mount.top + "/"))
    group.erase(0, mount.top.size());
  double least = 0;
  for (;; group.erase(group.rfind('/'))) {
    const double quota = quota_in(root + mount.folder + (group == "/" ? "" : group));
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
    if (group.find('/') == std::string::npos) return least;
  }
}

double quota_of_version_2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || period <= 0) return 0;
  double value = 0;
  const auto [end, error] = std::from_chars(quota.data(), quota.data() + quota.size(), value);
  return error == std::errc() ? value / period : 0;  // "max".
}

double quota_of_version_1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
  std::ifstream period_file(folder + "/cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  const bool known = (quota_file >> quota) && (period_file >> period);
  return known && quota > 0 && period > 0 ? quota / period : 0;  // -1: none.
}

double lesser(double a, double b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

// "2048K".
int64_t size_of(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return 0;
  const char unit = end == text.data() + text.size() ? ' ' : *end;
  return unit == 'M' ? value << 20 : unit == 'K' ? value << 10 : value;
}

std::string first_word(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

}  // namespace

double cpu_quota(const std::string& root) {
  const std::vector<Mount> mounts = read_mounts(root);
  double least = 0;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "4:cpu,cpuacct:/a/b", "0::/a/b".
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    const bool is_version_2 = controllers.empty();
    if (!is_version_2 && !lists(controllers, "cpu")) continue;
    for (const Mount& mount : mounts) {
      if (is_version_2 ? mount.type != "cgroup2"
                       : mount.type != "cgroup" || !lists(mount.options, "cpu")) {
        continue;
      }
      least = lesser(least, least_quota(root, mount, line.substr(second + 1),
                                        is_version_2 ? quota_of_version_2 : quota_of_version_1));
    }
  }
  return least;
}

int cores_worth_using(int allowed_cores, double quota) {
  int cores = std::max(1, allowed_cores);
  if (quota > 0 && quota < cores) cores = std::max(1, static_cast<int>(std::ceil(quota - 1e-3)));
  return cores;
}

CacheSizes read_cache_sizes(const std::string& root) {
  CacheSizes sizes;
  int last = 1;
  for (int index = 0; index < 8; ++index) {
    const std::string folder =
        root + "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    const std::string type = first_word(folder + "type");
    if (type != "Data" && type != "Unified") continue;
    const auto level = static_cast<int>(size_of(first_word(folder + "level")));
    const int64_t bytes = size_of(first_word(folder + "size"));
    if (level == 1) sizes.first_level = bytes;
    if (level == 2) sizes.second_level = bytes;
    if (level > last) {
      last = level;
      sizes.last_level = bytes;
    }
  }
  return sizes;
}

const CacheSizes& cache_sizes() {
  static const CacheSizes sizes = [] {
    CacheSizes read = read_cache_sizes("");
    if (read.first_level == 0) read.first_level = int64_t{32} << 10;
    if (read.second_level == 0) read.second_level = int64_t{512} << 10;
    if (read.last_level == 0) read.last_level = int64_t{4} << 20;
    return read;
  }();
  return sizes;
}

}  // namespace tierup
