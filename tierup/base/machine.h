// What the machine lets this process have, as the system says: cores, and the sizes of their
// caches.
//
// Read from the system's files; tests give a folder of their own in place of "/". Nothing is
// assumed of a file that is not there: a container may show a part of them, or none.
#pragma once

#include <cstdint>
#include <string>

namespace tierup {

// The least quota of processor time, in cores, over the control group that this process is in and
// all those around it, of both versions; 0 if none limits it. Where the group's folders are not to
// be seen under its own name (a container that was given the host's namespace of groups), the part
// of it that is mounted counts. `root`: "" for the machine.
double cpu_quota(const std::string& root);

// How many threads are worth starting: the cores that the process may run on, no more than its
// quota's, rounded up; at least one.
int cores_worth_using(int allowed_cores, double quota);

// In bytes, of the cache that belongs to one core, or the cores that share it; 0: unknown.
struct CacheSizes {
  int64_t first_level = 0;  // Of data.
  int64_t second_level = 0;
  int64_t last_level = 0;  // The largest level beyond the first.
};
// Of the first core of which the system tells; 0 where it tells nothing.
CacheSizes read_cache_sizes(const std::string& root);

// Of this machine, read once; typical sizes of small cores stand for unknown ones: 32 KiB, 512 KiB
// and 4 MiB. Any thread.
const CacheSizes& cache_sizes();

}  // namespace tierup
