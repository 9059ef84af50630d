// The requests that the launcher accepts.
#include <gtest/gtest.h>

#include "launcher/record.h"
#include "launcher/slots.h"
#include "launcher/validate.h"
#include "wire/tlv.h"

namespace cay::launcher {
namespace {

wire::CreateSandbox good() {
  wire::CreateSandbox request;
  request.sandbox_id = "10000000-0000-4000-8000-00000000000a";
  request.snapshot_id = "20000000-0000-4000-8000-00000000000b";
  request.hostname = "my-box";
  request.cpu_millicores = 1000;
  request.memory_bytes = std::uint64_t{512} << 20;
  request.disk_bytes = std::uint64_t{1} << 30;
  request.pids = 512;
  return request;
}

TEST(ValidateTest, AGoodRequestPasses) { EXPECT_TRUE(check(good())); }

TEST(ValidateTest, IdsAreUuidsOnly) {
  for (const char* bad :
       {"", ".", "..", "../../etc", "10000000-0000-4000-8000-00000000000",
        "10000000-0000-4000-8000-00000000000A", "10000000-0000-4000-8000-0000000000/a",
        "10000000x0000-4000-8000-00000000000a", "10000000-0000-4000-8000-00000000000a\n"}) {
    EXPECT_FALSE(is_uuid(bad)) << bad;
  }
  EXPECT_FALSE(is_uuid(std::string_view("10000000-0000-4000-8000-0000000000\0a", 36)));
}

TEST(ValidateTest, HostnamesAreLabels) {
  EXPECT_TRUE(is_hostname("a"));
  EXPECT_TRUE(is_hostname(std::string(63, 'a')));
  for (const std::string& bad :
       {std::string(), std::string(64, 'a'), std::string("-a"), std::string("a-"), std::string("A"),
        std::string("a b"), std::string("a\nb"), std::string("a.b")}) {
    EXPECT_FALSE(is_hostname(bad)) << bad;
  }
}

TEST(ValidateTest, AProfileThatIsNotKnownIsRefusedAndNoneMeansTheUsualOne) {
  auto request = good();
  EXPECT_EQ(profile_of(request), Profile::kDefault);
  for (const Profile one : kProfiles) {
    request.profile = to_string(one);
    EXPECT_TRUE(check(request));
    EXPECT_EQ(profile_of(request), one);
  }
  for (const char* unknown : {"stricter", "Strict", "nested "}) {
    request.profile = unknown;
    const auto refused = check(request);
    ASSERT_FALSE(refused) << unknown;
    EXPECT_EQ(refused.error().reason, "profile_unsupported");
  }
}

TEST(ValidateTest, NumbersHaveBounds) {
  auto request = good();
  request.memory_bytes = 0;
  auto refused = check(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("memory_bytes"), std::string::npos);
  request = good();
  request.cpu_millicores = 1;
  EXPECT_FALSE(check(request));
  request = good();
  request.pids = 0xffffffff;
  EXPECT_FALSE(check(request));
  request = good();
  request.disk_bytes = ~std::uint64_t{0};
  EXPECT_FALSE(check(request));
}

TEST(ValidateTest, FileSystemsInMemoryHavePlainPathsOfTheSandboxesOwn) {
  auto request = good();
  request.tmpfs = {{"/tmp", 0}, {"/a/b", request.memory_bytes}};
  EXPECT_TRUE(check(request));
  for (const char* path :
       {"", "/", "tmp", "/a/../b", "/a//b", "/a/", "/proc", "/dev/shm", "/sys/x", "/run"}) {
    request.tmpfs = {{path, 0}};
    EXPECT_FALSE(check(request)) << path;
  }
  request.tmpfs = {{"/tmp", request.memory_bytes + 1}};
  EXPECT_FALSE(check(request));
  request.tmpfs.assign(17, {"/tmp", 0});
  EXPECT_FALSE(check(request));
}

TEST(ValidateTest, PathRulesHavePlainPathsAndNoContainersBesideThem) {
  auto request = good();
  request.read_only_paths = {"/repo/vendor", "/etc"};
  request.hidden_paths = {"/secrets", "/repo/.env"};
  EXPECT_TRUE(check(request));
  request.profile = "strict";
  EXPECT_TRUE(check(request));
  request.profile = "nested";
  EXPECT_FALSE(check(request));
  for (const char* path :
       {"", "/", "tmp", "/a/../b", "/a//b", "/a/", "/proc", "/dev/shm", "/run"}) {
    request = good();
    request.read_only_paths = {path};
    EXPECT_FALSE(check(request)) << path;
    request = good();
    request.hidden_paths = {path};
    EXPECT_FALSE(check(request)) << path;
  }
  request = good();
  for (int i = 0; i < 32; ++i) request.hidden_paths.push_back("/h" + std::to_string(i));
  EXPECT_TRUE(check(request));
  request.read_only_paths = {"/one-more"};
  EXPECT_FALSE(check(request));
  request = good();
  std::string path;
  for (int i = 0; i < 32; ++i) path += "/x";
  request.hidden_paths = {path};
  EXPECT_TRUE(check(request));
  request.hidden_paths = {path + "/x"};
  EXPECT_FALSE(check(request)) << "each directory above is a mount";
}

TEST(ValidateTest, CgroupParents) {
  for (const char* good : {"", "/cay.slice", "/cay.slice/cay-sandboxes.service"})
    EXPECT_TRUE(is_cgroup_parent(good)) << good;
  for (const char* bad : {"/", "cay.slice", "/cay.slice/", "/a//b", "/../etc", "/a/./b", "/a/.."}) {
    EXPECT_FALSE(is_cgroup_parent(bad)) << bad;
  }
}

TEST(SlotsTest, RangesStayClearOfSystemds) {
  const std::uint64_t last = std::uint64_t{kRangeBase} + std::uint64_t{kSlotCount} * kRangeSize;
  EXPECT_LE(last, kRangeEnd);
  EXPECT_LE(kKeeperBase + kSlotCount, kRangeBase);
  EXPECT_GT(kSlotCount, 4000U);
}

TEST(RecordTest, SurvivesTheWireForm) {
  Record record;
  record.alive = true;
  record.keeper_pid = 42;
  record.start_time = 4711;
  record.boot_id = "boot";
  record.slot = 7;
  record.snapshot_id = "snap";
  const auto back = wire::decode<Record>(wire::encode(record));
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->alive);
  EXPECT_EQ(back->keeper_pid, 42);
  EXPECT_EQ(back->start_time, 4711U);
  EXPECT_EQ(back->slot, 7U);
}

TEST(ValidateTest, OnlyWhoBuildsALayerStandsOnNothing) {
  auto request = good();
  request.snapshot_id = "";
  EXPECT_FALSE(check(request));
  request.builds_layer = true;
  EXPECT_TRUE(check(request));
  request.snapshot_id = "../x";
  EXPECT_FALSE(check(request));
}

TEST(ValidateTest, MountsAreOfOneIdAtAPlainPath) {
  const std::string id = good().snapshot_id;
  const auto passes = [](wire::DiskMountMsg mount) {
    auto request = good();
    request.mounts = {std::move(mount)};
    return static_cast<bool>(check(request));
  };
  EXPECT_TRUE(passes({"/data", id, "", false}));
  EXPECT_TRUE(passes({"/data/deep", "", id, true}));
  EXPECT_FALSE(passes({"/data", id, id, false}));
  EXPECT_FALSE(passes({"/data", "", "", false}));
  EXPECT_FALSE(passes({"/data", "../../etc", "", false}));
  for (const char* path : {"", "/", "data", "/a/../b", "/proc/x", "/dev", "/run/x", "/sys"})
    EXPECT_FALSE(passes({path, id, "", false})) << path;
  auto many = good();
  many.mounts.assign(17, {"/data", id, "", false});
  EXPECT_FALSE(check(many));
  auto fork = good();
  fork.disk_of = "..";
  EXPECT_FALSE(check(fork));
}

}  // namespace
}  // namespace cay::launcher
