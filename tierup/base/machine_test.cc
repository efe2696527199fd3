#include "tierup/base/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tierup {
namespace {

// A machine's files in a folder that goes with the test.
class FakeMachine : public ::testing::Test {
 protected:
  FakeMachine()
      : root_(std::filesystem::temp_directory_path() /
              ("tierup_machine_" + std::to_string(getpid()))) {}
  ~FakeMachine() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_.string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  void mount_version_2(const std::string& top = "/") const {
    write("/proc/self/mountinfo", "22 1 0:1 / / rw shared:1 - ext4 /dev/vda rw\n31 22 0:28 " + top +
                                      " /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw");
  }
  void mount_version_1(const std::string& top = "/") const {
    write("/proc/self/mountinfo",
          "32 22 0:28 " + top + " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu," +
              "cpuacct\n33 22 0:29 / /sys/fs/cgroup/memory rw - cgroup " + "cgroup rw,memory");
  }
  void write_version_1(const std::string& group, const std::string& quota) const {
    write("/sys/fs/cgroup/cpu,cpuacct" + group + "/cpu.cfs_quota_us", quota);
    write("/sys/fs/cgroup/cpu,cpuacct" + group + "/cpu.cfs_period_us", "100000");
  }
  double quota() const { return cpu_quota(root_.string()); }
  std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

using CpuQuota = FakeMachine;
using Caches = FakeMachine;

TEST_F(CpuQuota, IsNoneWhereNothingIsToBeRead) {
  EXPECT_EQ(quota(), 0);
  write("/proc/self/cgroup", "0::/a");
  EXPECT_EQ(quota(), 0);
  mount_version_2();
  EXPECT_EQ(quota(), 0);
  write("/sys/fs/cgroup/a/cpu.max", "max 100000");
  EXPECT_EQ(quota(), 0);
}

TEST_F(CpuQuota, OfAContainerStandsInTheMountedFolder) {
  write("/proc/self/cgroup", "0::/");
  mount_version_2("/../../docker/abc");
  write("/sys/fs/cgroup/cpu.max", "150000 100000");
  EXPECT_DOUBLE_EQ(quota(), 1.5);
}

// systemd-run --property=CPUQuota=250%: the limit stands in the service's own group.
TEST_F(CpuQuota, OfAServiceStandsInItsOwnGroup) {
  write("/proc/self/cgroup", "0::/system.slice/run-u7.service");
  mount_version_2();
  write("/sys/fs/cgroup/system.slice/run-u7.service/cpu.max", "250000 100000");
  EXPECT_DOUBLE_EQ(quota(), 2.5);
}

TEST_F(CpuQuota, IsTheLeastOfAllGroupsAround) {
  write("/proc/self/cgroup", "0::/user.slice/user-1.slice/session.scope");
  mount_version_2();
  write("/sys/fs/cgroup/user.slice/user-1.slice/session.scope/cpu.max", "400000 100000");
  write("/sys/fs/cgroup/user.slice/cpu.max", "300000 100000");
  write("/sys/fs/cgroup/user.slice/user-1.slice/cpu.max", "max 100000");
  EXPECT_DOUBLE_EQ(quota(), 3);
  write("/sys/fs/cgroup/other/cpu.max", "100000 100000");
  EXPECT_DOUBLE_EQ(quota(), 3);
}

TEST_F(CpuQuota, OfVersion1IsReadInTheGroupOfTheCpuController) {
  write("/proc/self/cgroup", "5:memory:/wrong\n4:cpu,cpuacct:/docker/abc\n3:cpuset:/wrong\n0::/");
  mount_version_1();
  write_version_1("", "-1");
  write_version_1("/docker/abc", "50000");
  write_version_1("/wrong", "10000");
  EXPECT_DOUBLE_EQ(quota(), 0.5);
}

// The path is the host's, and the container sees its own part of the hierarchy alone.
TEST_F(CpuQuota, WithTheHostsNamesIsFoundUnderTheMountedPart) {
  write("/proc/self/cgroup", "4:cpu,cpuacct:/docker/abc/inner");
  mount_version_1("/docker/abc");
  write_version_1("", "200000");
  EXPECT_DOUBLE_EQ(quota(), 2);
  write_version_1("/inner", "100000");
  EXPECT_DOUBLE_EQ(quota(), 1);
  mount_version_1("/docker/ab");  // Another group's: of the same beginning, not of the same path.
  EXPECT_DOUBLE_EQ(quota(), 2);
}

TEST_F(CpuQuota, OfBothVersionsIsTheLesser) {
  write("/proc/self/cgroup", "4:cpu,cpuacct:/a\n0::/b");
  write("/proc/self/mountinfo",
        "31 22 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
        "32 22 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct");
  write("/sys/fs/cgroup/unified/b/cpu.max", "300000 100000");
  write_version_1("/a", "200000");
  EXPECT_DOUBLE_EQ(quota(), 2);
}

TEST_F(CpuQuota, OfDamagedFilesIsNone) {
  write("/proc/self/cgroup", "\n0\n0:\nnonsense\n0::/a");
  write("/proc/self/mountinfo", "x\n31 22 0:28 / /sys/fs/cgroup rw - cgroup2\n\n- - - -");
  EXPECT_EQ(quota(), 0);
  mount_version_2();
  for (const char* text : {"", "100000", "x 100000", "100000 0", "100000 -5"}) {
    write("/sys/fs/cgroup/a/cpu.max", text);
    EXPECT_EQ(quota(), 0) << text;
  }
}

TEST(CoresWorthUsing, AreThoseOfTheQuotaRoundedUp) {
  EXPECT_EQ(cores_worth_using(64, 0), 64);
  EXPECT_EQ(cores_worth_using(64, 2.5), 3);
  EXPECT_EQ(cores_worth_using(64, 2.0000001), 2);
  EXPECT_EQ(cores_worth_using(2, 16), 2);
  EXPECT_EQ(cores_worth_using(4, 0.1), 1);
  EXPECT_EQ(cores_worth_using(0, 0), 1);
}

TEST_F(Caches, AreReadByLevelAndInstructionsDoNotCount) {
  const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index";
  const auto add = [&](const char* index, const char* level, const char* type, const char* size) {
    write(folder + index + "/level", level);
    write(folder + index + "/type", type);
    write(folder + index + "/size", size);
  };
  EXPECT_EQ(read_cache_sizes(root()).second_level, 0);
  add("0", "1", "Data", "32K");
  add("1", "1", "Instruction", "64K");
  add("2", "2", "Unified", "512K");
  EXPECT_EQ(read_cache_sizes(root()).last_level, 512 << 10);
  add("3", "3", "Unified", "32M");
  const CacheSizes sizes = read_cache_sizes(root());
  EXPECT_EQ(sizes.first_level, 32 << 10);
  EXPECT_EQ(sizes.second_level, 512 << 10);
  EXPECT_EQ(sizes.last_level, 32 << 20);
}

TEST(CacheSizes, OfThisMachineAreNeverUnknown) {
  EXPECT_GE(cache_sizes().first_level, 8 << 10);
  EXPECT_GE(cache_sizes().second_level, 64 << 10);
  EXPECT_GE(cache_sizes().last_level, cache_sizes().second_level);
}

}  // namespace
}  // namespace tierup
