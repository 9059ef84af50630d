// Volumes over the fakes: who writes in them, what is removed when, and what a restart finds.
#include <algorithm>

#include "core/core_fixture.h"

namespace cay::core {
namespace {

class VolumesTest : public CoreTest {
 protected:
  VolumesTest() { EXPECT_TRUE(open()); }

  Result<VolumeInfo> make(const std::string& name, std::uint64_t bytes = 0) {
    return run(core->volumes().create(alice, {.name = name, .disk_bytes = bytes}));
  }
  Result<Sandbox> box(const std::string& name, VolumeMounts volumes) {
    SandboxSpec spec = named(name);
    spec.volumes = std::move(volumes);
    return run(core->sandboxes().create(alice, spec, {}));
  }
  std::vector<std::string> names() {
    std::vector<std::string> out;
    auto all = run(core->volumes().list(alice));
    for (const VolumeInfo& one : *all) out.push_back(one.volume.name);
    return out;
  }
  template <class T>
  static std::string reason(const Result<T>& got) {
    return got ? "" : got.error().reason;
  }
};

TEST_F(VolumesTest, OneOutlivesItsSandboxes) {
  const auto volume = make("data", 64u << 20);
  ASSERT_TRUE(volume) << volume.error().message;
  EXPECT_EQ(runtime.fake_volumes.kept.at(volume->volume.id).limit, 64u << 20);
  const auto made = box("one", {{.volume = volume->volume.id.get(), .path = "/data"}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->volumes, (VolumeMounts{{.volume = "data", .path = "/data"}}));
  EXPECT_EQ(runtime.boots.back().mounts,
            (std::vector<DiskMount>{{.path = "/data", .volume = volume->volume.id}}));
  EXPECT_EQ(run(core->volumes().get(alice, "data"))->sandboxes, std::vector{made->id});
  EXPECT_EQ(reason(run(core->volumes().remove(alice, "data"))), "volume_in_use");
  EXPECT_TRUE(run(core->sandboxes().remove(alice, "one")));
  EXPECT_EQ(names(), std::vector<std::string>{"data"});
  EXPECT_TRUE(run(core->volumes().remove(alice, "data")));
  EXPECT_TRUE(runtime.fake_volumes.kept.empty() && store.volume_rows.empty());
  EXPECT_EQ(reason(box("two", {{.volume = "data", .path = "/data"}})), "volume_not_found");
}

TEST_F(VolumesTest, OneSandboxAtATimeWrites) {
  ASSERT_TRUE(make("data"));
  ASSERT_TRUE(box("one", {{.volume = "data", .path = "/d"}}));
  const auto second = box("two", {{.volume = "data", .path = "/d"}});
  EXPECT_EQ(reason(second), "volume_in_use");
  EXPECT_NE(second.error().message.find("'one'"), std::string::npos);
  EXPECT_EQ(store.rows.size(), 1U) << "nothing is left of it";
  EXPECT_TRUE(box("reader", {{.volume = "data", .path = "/d", .read_only = true}}));
  EXPECT_EQ(reason(box("half", {{.volume = "data", .path = "/d", .shared = true}})),
            "volume_in_use")
      << "the other one does not share";
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "one")));
  ASSERT_TRUE(box("two", {{.volume = "data", .path = "/d"}}));
  EXPECT_EQ(reason(run(core->sandboxes().start(alice, "one"))), "volume_in_use");
  EXPECT_EQ(state("one"), SandboxState::kStopped) << "it is as good as it was";
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "two")));
  EXPECT_TRUE(box("left", {{.volume = "data", .path = "/d", .shared = true}}));
  EXPECT_TRUE(box("right", {{.volume = "data", .path = "/d", .shared = true}}));
}

TEST_F(VolumesTest, AForkMountsTheSameByTheSameRule) {
  ASSERT_TRUE(make("data") && make("public"));
  ASSERT_TRUE(box("one", {{.volume = "data", .path = "/d"}}));
  EXPECT_EQ(reason(run(core->sandboxes().fork(alice, "one", {}))), "volume_in_use");
  EXPECT_EQ(store.rows.size(), 1U);
  ASSERT_TRUE(box("two", {{.volume = "public", .path = "/p", .shared = true}}));
  const auto forks = run(core->sandboxes().fork(alice, "two", {.count = 2}));
  ASSERT_TRUE(forks) << forks.error().message;
  EXPECT_EQ(forks->back().volumes.front().path, "/p");
}

TEST_F(VolumesTest, PathsThatTakeNoneAreRefused) {
  ASSERT_TRUE(make("data"));
  for (const char* path : {"/", "data", "/proc", "/dev/x", "/sys", "/run/x", "/tmp", "/tmp/x",
                           "/a/../b", "/a//b", "/a/", ""}) {
    EXPECT_EQ(reason(box("one", {{.volume = "data", .path = path}})), "invalid_volumes") << path;
  }
  const VolumeMounts nested{{.volume = "data", .path = "/a"}, {.volume = "data", .path = "/a/b"}};
  EXPECT_EQ(reason(box("one", nested)), "invalid_volumes");
  EXPECT_EQ(reason(box("one", {{"data", "/a", true, true}})), "invalid_volumes");
  const VolumeMounts beside{{.volume = "data", .path = "/a"}, {.volume = "data", .path = "/ab"}};
  EXPECT_TRUE(box("one", beside)) << "control";
}

TEST_F(VolumesTest, NamesAreOfATenantAndSomeAreReserved) {
  ASSERT_TRUE(make("data"));
  EXPECT_EQ(reason(make("data")), "volume_exists");
  EXPECT_EQ(reason(make(".cache")), "invalid_name");
  EXPECT_EQ(reason(make("x", 1)), "invalid_limits");
  EXPECT_EQ(reason(run(core->volumes().get(bob, "data"))), "volume_not_found");
  Volume& cache = store.volume_rows[VolumeId("c")];
  cache.id = VolumeId("c");
  cache.tenant = alice.tenant;
  cache.name = ".c";
  EXPECT_EQ(names(), std::vector<std::string>{"data"});
  EXPECT_EQ(reason(run(core->volumes().remove(alice, "c"))), "volume_not_found");
  EXPECT_EQ(reason(box("one", {{.volume = ".c", .path = "/c"}})), "volume_not_found");
}

TEST_F(VolumesTest, AFailureLeavesAllOrNothing) {
  store.write_error = Error{Code::kInternal, "store_failed", "no", 0};
  EXPECT_EQ(reason(make("data")), "store_failed");
  EXPECT_TRUE(runtime.fake_volumes.kept.empty());
  store.write_error.reset();
  const auto volume = make("data");
  runtime.fake_volumes.error = Error{Code::kConflict, "volume_in_use", "it is read", 0};
  EXPECT_EQ(reason(run(core->volumes().remove(alice, "data"))), "volume_in_use");
  runtime.fake_volumes.error.reset();
  EXPECT_EQ(names(), std::vector<std::string>{"data"}) << "it is still there";
  runtime.fake_volumes.error = Error{Code::kUnsupported, "no_layers", "no pool", 0};
  EXPECT_EQ(reason(make("more")), "no_volumes");
  runtime.fake_volumes.error.reset();
  config.capacity.free_disk_bytes = [] { return 0; };
  config.host.disk_reserve_bytes = 1;
  ASSERT_TRUE(open());
  EXPECT_EQ(reason(make("more")), "quota_storage");
}

TEST_F(VolumesTest, ARestartRemovesWhatHasNoRowAndTellsWhatIsLost) {
  const auto kept = make("kept"), lost = make("lost");
  ASSERT_TRUE(box("one", {{.volume = "kept", .path = "/d"}}));
  runtime.fake_volumes.kept.erase(lost->volume.id);
  runtime.fake_volumes.kept[VolumeId("stray")] = {};
  ASSERT_TRUE(open());
  EXPECT_EQ(runtime.fake_volumes.kept.size(), 1U);
  EXPECT_TRUE(runtime.fake_volumes.kept.contains(kept->volume.id));
  EXPECT_TRUE(std::ranges::any_of(warnings, [](const std::string& text) {
    return text.find("volume lost is lost") != std::string::npos;
  }));
  EXPECT_TRUE(run(core->volumes().get(alice, "lost"))->disk_lost);
  EXPECT_FALSE(run(core->volumes().get(alice, "kept"))->disk_lost);
  EXPECT_EQ(reason(run(core->volumes().resize(alice, "lost", 64u << 20))), "volume_not_found");
  EXPECT_EQ(reason(box("two", {{.volume = "kept", .path = "/d"}})), "volume_in_use")
      << "the adopted sandbox writes";
}

TEST_F(VolumesTest, ALimitChanges) {
  const auto volume = make("data");
  EXPECT_EQ(volume->volume.disk_bytes, config.defaults.limits.disk_bytes);
  const auto resized = run(core->volumes().resize(alice, "data", 32u << 20));
  ASSERT_TRUE(resized) << resized.error().message;
  EXPECT_EQ(resized->volume.disk_bytes, 32u << 20);
  EXPECT_EQ(runtime.fake_volumes.kept.at(volume->volume.id).limit, 32u << 20);
}

}  // namespace
}  // namespace cay::core
