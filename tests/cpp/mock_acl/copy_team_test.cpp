// Copies by several threads against the bytes they were to move.
#include "pypto/mock_acl/copy_team.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "pypto/mock_acl/device.h"
#include "pypto/mock_acl/settings.h"

namespace pypto::mock {
namespace {

constexpr size_t kLeast = CopyTeam::kLeastShared;

std::vector<uint8_t> RandomBytes(size_t bytes) {
  std::vector<uint8_t> values(bytes);
  std::minstd_rand generator(7);
  std::generate(values.begin(), values.end(), [&] { return static_cast<uint8_t>(generator() >> 8); });
  return values;
}

bool MayUseTwoProcessors() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 && CPU_COUNT(&allowed) > 1;
}

TEST(CopyTeam, MovesExactlyTheBytes) {
  CopyTeam team;
  const std::vector<uint8_t> source = RandomBytes((size_t{20} << 20) + 777);
  for (const size_t bytes : {kLeast - 1, kLeast, kLeast + 1, kLeast + 4099, size_t{20} << 20}) {
    for (const size_t offset : {0, 1, 63}) {
      std::vector<uint8_t> target(bytes + 128, 0xa5);
      team.Copy(target.data() + offset, source.data() + 3, bytes, 3);
      std::vector<uint8_t> expected(target.size(), 0xa5);
      std::copy_n(source.begin() + 3, bytes, expected.begin() + static_cast<std::ptrdiff_t>(offset));
      ASSERT_TRUE(target == expected) << bytes << " bytes to offset " << offset;
    }
  }
}

TEST(CopyTeam, SharesLargeCopiesOnly) {
  if (!MayUseTwoProcessors()) GTEST_SKIP() << "one processor";
  CopyTeam team;
  const std::vector<uint8_t> source = RandomBytes(kLeast);
  std::vector<uint8_t> target(kLeast);
  team.Copy(target.data(), source.data(), kLeast - 1, 2);
  EXPECT_EQ(team.shared(), 0u);
  team.Copy(target.data(), source.data(), kLeast, 1);
  EXPECT_EQ(team.shared(), 0u) << "one core";
  team.Copy(target.data(), source.data(), kLeast, 2);
  EXPECT_EQ(team.shared(), 1u);
}

TEST(CopyTeam, IdleCoresOfTheDeviceHelpFirst) {
  if (!MayUseTwoProcessors()) GTEST_SKIP() << "one processor";
  struct Copies {
    CopyTeam team;
    Settings settings;
    std::vector<uint8_t> source = RandomBytes(kLeast);
    std::vector<uint8_t> target = std::vector<uint8_t>(kLeast);
    std::unique_ptr<Device> device;

    void Run() { team.Copy(target.data(), source.data(), kLeast, 2, device.get()); }
  } copies;
  copies.settings.cores = 2;
  copies.settings.memory_bytes = size_t{16} << 20;
  copies.device = std::make_unique<Device>(0, copies.settings);
  ASSERT_TRUE(copies.device->Start());
  copies.Run();
  EXPECT_EQ(copies.team.on_cores(), 1u);
  EXPECT_TRUE(copies.target == copies.source);

  std::fill(copies.target.begin(), copies.target.end(), uint8_t{0});
  ASSERT_TRUE(copies.device->ShareIdleCores(
      [](void* all, uint32_t core) {
        if (core == 0) static_cast<Copies*>(all)->Run();
      },
      &copies));
  EXPECT_EQ(copies.team.on_cores(), 1u) << "the cores were busy";
  EXPECT_EQ(copies.team.shared(), 2u) << "the team's own threads helped";
  EXPECT_TRUE(copies.target == copies.source);
}

TEST(CopyTeam, TakesOverlappingRangesAsMemmoveDoes) {
  CopyTeam team;
  const std::vector<uint8_t> source = RandomBytes(kLeast + 4096);
  std::vector<uint8_t> moved = source;
  team.Copy(moved.data() + 100, moved.data(), kLeast, 2);
  EXPECT_TRUE(std::equal(source.begin(), source.begin() + kLeast, moved.begin() + 100));
  EXPECT_EQ(team.shared(), 0u);
}

TEST(CopyTeam, ACallerTiedToOneProcessorStartsNoThreads) {
  CopyTeam team;
  std::thread([&] {
    cpu_set_t allowed;
    ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    size_t first = 0;
    while (!CPU_ISSET(first, &allowed)) ++first;
    CPU_ZERO(&allowed);
    CPU_SET(first, &allowed);
    ASSERT_EQ(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
    const std::vector<uint8_t> source = RandomBytes(kLeast);
    std::vector<uint8_t> target(kLeast);
    team.Copy(target.data(), source.data(), kLeast, 2);
    EXPECT_TRUE(target == source);
  }).join();
  EXPECT_EQ(team.shared(), 0u);
}

TEST(CopyTeam, ThreadsCopyAtTheSameTime) {
  CopyTeam team;
  const std::vector<uint8_t> source = RandomBytes(kLeast + 5);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        std::vector<uint8_t> target(source.size());
        team.Copy(target.data(), source.data(), source.size(), 2);
        count += target == source ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(CopyTeam, StopsAndStartsAgain) {
  CopyTeam team;
  const std::vector<uint8_t> source = RandomBytes(kLeast);
  for (int i = 0; i < 3; ++i) {
    std::vector<uint8_t> target(kLeast);
    team.Copy(target.data(), source.data(), kLeast, 2);
    EXPECT_TRUE(target == source);
    team.Stop();
  }
}

}  // namespace
}  // namespace pypto::mock
