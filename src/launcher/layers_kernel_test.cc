// Layers, forks and volumes on this machine's kernel: what a layer contains, who holds it, and what
// a kill leaves.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "launcher/testing/launcher_test.h"

namespace cay::launcher::testing {
namespace {

using wire::Type;

// The disk of a sandbox that wrote nothing: init mends the mode of the test snapshot's /tmp.
const std::vector<std::string> kOnDisk{"tmp"};

bool wait_until(const std::function<bool()>& holds) {
  for (int i = 0; i < 1000 && !holds(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return holds();
}

std::string layer_uuid(unsigned number) {
  std::string id = test_uuid(number);
  id[0] = '2';
  return id;
}

class LayersTest : public LauncherTest {
 protected:
  void SetUp() override {
    LauncherTest::SetUp();
    if (IsSkipped()) return;
    begin({});
  }
  void begin(Config config) {
    client_.reset();
    launcher_.reset();
    launcher_ = std::make_unique<RunningLauncher>(std::move(config));
    client_ = launcher_->connect();
    ASSERT_TRUE(client_);
  }
  // As after a power cut: nobody finishes anything.
  void kill_the_worker() {
    ASSERT_EQ(::kill(launcher_->worker(), SIGKILL), 0);
    client_ = launcher_->connect();
    ASSERT_TRUE(client_);
  }
  void restart_without_failing_steps() {
    client_.reset();
    launcher_->end();
    launcher_->set_fail_step("");
    launcher_->start();
    client_ = launcher_->connect();
    ASSERT_TRUE(client_);
  }

  std::string create(const wire::CreateSandbox& request) {
    const auto answer = client_->ask(Type::kCreate, request);
    return type_of(answer) == Type::kCreated ? "created" : error_of(answer);
  }
  std::string seal(const std::string& sandbox, const std::string& layer) {
    const auto answer = client_->ask(Type::kSealLayer, wire::SealLayer{sandbox, layer});
    if (type_of(answer) != Type::kLayer) return error_of(answer);
    sealed_ = *wire::decode<wire::LayerMsg>(answer->payload);
    return "sealed";
  }
  std::string remove_layer(const std::string& layer) {
    wire::SnapshotMsg snapshot;
    snapshot.id = layer;
    const auto answer = client_->ask(Type::kRemoveSnapshot, snapshot);
    return type_of(answer) == Type::kOk ? "removed" : error_of(answer);
  }
  std::string destroy(const std::string& id) {
    const auto answer = client_->ask(Type::kDestroy, wire::SandboxRef{id});
    return type_of(answer) == Type::kOk ? "destroyed" : error_of(answer);
  }
  std::string stop(const std::string& id) {
    const auto answer = client_->ask(Type::kStop, wire::SandboxRef{id});
    return type_of(answer) == Type::kOk ? "stopped" : error_of(answer);
  }
  std::vector<wire::LayerMsg> layers() {
    std::vector<wire::LayerMsg> all;
    auto frame = client_->ask(Type::kListLayers, wire::Empty{});
    for (; type_of(frame) == Type::kLayer; frame = client_->answer(client_->last_channel()))
      all.push_back(*wire::decode<wire::LayerMsg>(frame->payload));
    EXPECT_EQ(type_of(frame), Type::kEof);
    return all;
  }
  std::vector<wire::VolumeMsg> volumes() {
    std::vector<wire::VolumeMsg> all;
    auto frame = client_->ask(Type::kListVolumes, wire::Empty{});
    for (; type_of(frame) == Type::kVolume; frame = client_->answer(client_->last_channel()))
      all.push_back(*wire::decode<wire::VolumeMsg>(frame->payload));
    EXPECT_EQ(type_of(frame), Type::kEof);
    return all;
  }
  std::string run(const std::string& id, const std::vector<std::string>& words) {
    return launcher_->run(id, words);
  }
  void put(const std::string& id, const std::string& path, const std::string& text) {
    EXPECT_NE(run(id, {"put", path, text}).find("put=ok\n"), std::string::npos) << path;
  }
  std::string get(const std::string& id, const std::string& path) {
    const std::string told = run(id, {"get", path});
    return told.substr(0, told.find("\nexit"));
  }
  static wire::CreateSandbox on(const std::string& id, const std::string& layer) {
    auto request = request_for(id);
    request.snapshot_id = layer;
    return request;
  }

  std::unique_ptr<RunningLauncher> launcher_;
  std::unique_ptr<Client> client_;
  wire::LayerMsg sealed_;
};

TEST_F(LayersTest, ASandboxStandsOnWhatAnotherOneWasWhenItWasSealed) {
  const std::string from = test_uuid(1), above = test_uuid(2), layer = layer_uuid(1);
  ASSERT_EQ(create(request_for(from)), "created");
  put(from, "/kept", "before");
  ASSERT_EQ(seal(from, layer), "sealed");
  EXPECT_EQ(sealed_.layer_id, layer);
  EXPECT_EQ(sealed_.below, std::vector<std::string>{kSnapshot});
  EXPECT_GT(sealed_.bytes, 0U);
  put(from, "/kept", "after");
  EXPECT_EQ(seal(from, layer), "layer_exists: there is a layer " + layer);

  ASSERT_EQ(create(on(above, layer)), "created");
  EXPECT_EQ(get(above, "/kept"), "got=before\n") << "of the moment of the seal";
  EXPECT_EQ(get(from, "/kept"), "got=after\n") << "it goes on";
  put(above, "/kept", "above");
  ASSERT_EQ(stop(above), "stopped");
  ASSERT_EQ(create(on(above, layer)), "created");
  EXPECT_EQ(get(above, "/kept"), "got=above\n") << "its own disk";
  ASSERT_EQ(seal(above, layer_uuid(2)), "sealed");
  EXPECT_EQ(sealed_.below, (std::vector<std::string>{layer, kSnapshot}));
  ASSERT_EQ(layers().size(), 2U);

  auto fresh = on(above, layer);
  fresh.fresh_disk = true;
  ASSERT_EQ(stop(above), "stopped");
  ASSERT_EQ(create(fresh), "created");
  EXPECT_EQ(get(above, "/kept"), "got=before\n") << "what it had written is gone";
}

TEST_F(LayersTest, ALayerInUseAnywhereBelowIsNotRemoved) {
  const std::string from = test_uuid(1), above = test_uuid(2);
  const std::string low = layer_uuid(1), high = layer_uuid(2);
  ASSERT_EQ(create(request_for(from)), "created");
  ASSERT_EQ(seal(from, low), "sealed");
  ASSERT_EQ(create(on(above, low)), "created");
  ASSERT_EQ(seal(above, high), "sealed");
  EXPECT_TRUE(remove_layer(low).starts_with("layer_in_use")) << "a sandbox and a layer";
  ASSERT_EQ(destroy(above), "destroyed");
  EXPECT_TRUE(remove_layer(low).starts_with("layer_in_use")) << "a layer";
  ASSERT_EQ(create(on(above, high)), "created");
  EXPECT_TRUE(remove_layer(high).starts_with("layer_in_use")) << "a sandbox";
  EXPECT_TRUE(remove_layer(kSnapshot).starts_with("snapshot_in_use")) << "far below";
  kill_the_worker();
  EXPECT_TRUE(remove_layer(low).starts_with("layer_in_use")) << "the next launcher knows";
  ASSERT_EQ(stop(above), "stopped");
  EXPECT_TRUE(remove_layer(low).starts_with("layer_in_use")) << "its disk stands there";
  ASSERT_EQ(destroy(above), "destroyed");
  EXPECT_EQ(remove_layer(high), "removed");
  EXPECT_EQ(remove_layer(high), "removed") << "idempotent";
  EXPECT_EQ(remove_layer(low), "removed");
  EXPECT_TRUE(layers().empty());
  EXPECT_TRUE(launcher_->stored("layer-").empty());
  ASSERT_EQ(destroy(from), "destroyed");
  EXPECT_EQ(remove_layer(kSnapshot), "removed");
  expect_nothing_left(*launcher_);
}

TEST_F(LayersTest, NothingOfCaysIsInALayerThatIsBuilt) {
  const std::string builder = test_uuid(1), other = test_uuid(2), layer = layer_uuid(1);
  auto request = request_for(builder);
  request.builds_layer = true;
  request.snapshot_id = "";
  request.tmpfs = {{"/deep/inside/memory", 0}};
  ASSERT_EQ(create(request), "created");
  ASSERT_EQ(seal(builder, layer), "sealed");
  EXPECT_TRUE(sealed_.below.empty());
  const std::string store =
      "/proc/" + std::to_string(launcher_->guardian) + "/root" + launcher_->data + "/store/layer-";
  EXPECT_TRUE(launcher_->names_with(store + layer + "/upper", "").empty());
  kill_the_worker();
  EXPECT_TRUE(remove_layer(layer_uuid(9)).starts_with("removed"))
      << "a sandbox on no layer holds none";

  // Control: a sandbox for programs has them, and its disk has none of them either.
  ASSERT_EQ(create(request_for(other)), "created");
  EXPECT_EQ(get(other, "/etc/hostname"), "got=box\n");
  ASSERT_EQ(seal(other, layer_uuid(2)), "sealed");
  EXPECT_EQ(launcher_->names_with(store + layer_uuid(2) + "/upper", ""), kOnDisk);
}

TEST_F(LayersTest, ProgramsInsideReplaceTheNamesThatCayGives) {
  const std::string id = test_uuid(1), above = test_uuid(2);
  ASSERT_EQ(create(request_for(id)), "created");
  EXPECT_NE(run(id, {"replace", "/etc/hosts", "10.0.0.1 other"}).find("replaced=ok"),
            std::string::npos);
  EXPECT_NE(run(id, {"put", "/etc/hostname", "mine"}).find("put=ok"), std::string::npos);
  EXPECT_NE(run(id, {"unlink", "/etc/resolv.conf"}).find("unlinked=ok"), std::string::npos);
  ASSERT_EQ(stop(id), "stopped");
  ASSERT_EQ(create(request_for(id)), "created");
  EXPECT_EQ(get(id, "/etc/hosts"), "got=10.0.0.1 other\n") << "kept over a stop";
  EXPECT_EQ(get(id, "/etc/hostname"), "got=mine\n");
  EXPECT_EQ(get(id, "/etc/resolv.conf"), "got=!No such file or directory");

  auto fork = request_for(above);
  fork.disk_of = id;
  fork.hostname = "second";
  ASSERT_EQ(create(fork), "created");
  EXPECT_EQ(get(above, "/etc/hostname"), "got=second\n") << "another machine";
  const std::string hosts = get(above, "/etc/hosts");
  EXPECT_NE(hosts.find("10.0.0.1 other\n"), std::string::npos) << hosts;
  EXPECT_NE(hosts.find(" second\n"), std::string::npos) << hosts;
}

// As images have them: a link to a place that is not there, and no file at all.
TEST_F(LayersTest, LinksAndGapsOfALayerGiveWayToTheNames) {
  const std::string from = test_uuid(1), above = test_uuid(2), layer = layer_uuid(1);
  ASSERT_EQ(create(request_for(from)), "created");
  EXPECT_NE(run(from, {"link", "../run/nowhere", "/etc/hostname"}).find("linked=ok"),
            std::string::npos);
  EXPECT_NE(run(from, {"unlink", "/etc/hosts"}).find("unlinked=ok"), std::string::npos);
  EXPECT_EQ(get(from, "/etc/hostname"), "got=!No such file or directory") << "control";
  ASSERT_EQ(seal(from, layer), "sealed");
  ASSERT_EQ(create(on(above, layer)), "created");
  EXPECT_EQ(get(above, "/etc/hostname"), "got=box\n");
  EXPECT_NE(get(above, "/etc/hosts").find(" box\n"), std::string::npos);
}

// To cp, diff and the dynamic loader, files of one device and one number are one file.
TEST_F(LayersTest, FilesOfDifferentLayersAreDifferentFiles) {
  std::string below = kSnapshot;
  std::vector<std::string> ids;
  for (unsigned i = 1; i <= 3; ++i) {
    ids.push_back(test_uuid(i));
    ASSERT_EQ(create(on(ids.back(), below)), "created");
    for (unsigned file = 0; file < 4; ++file)
      put(ids.back(), "/f" + std::to_string(i) + std::to_string(file), "x");
    below = layer_uuid(i);
    ASSERT_EQ(seal(ids.back(), below), "sealed");
  }
  ASSERT_EQ(create(on(test_uuid(9), below)), "created");
  put(test_uuid(9), "/f40", "x");
  std::vector<std::string> seen;
  for (const char* file : {"/f10", "/f11", "/f12", "/f13", "/f20", "/f21", "/f22", "/f23", "/f30",
                           "/f31", "/f32", "/f33", "/f40"}) {
    const std::string told = run(test_uuid(9), {"identity", file});
    ASSERT_NE(told.find("stat=ok"), std::string::npos) << file;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), told), 0) << file << " is another one: " << told;
    seen.push_back(told);
  }
}

// The device of a disk in the store, which a rename keeps.
dev_t device_of(const RunningLauncher& launcher, const std::string& name) {
  struct stat info{};
  const std::string store = "/proc/" + std::to_string(launcher.guardian) + "/root" + launcher.data;
  return ::stat((store + "/store/" + name).c_str(), &info) == 0 ? info.st_dev : 0;
}

TEST_F(LayersTest, TheNextDisksOnALayerAreMadeAhead) {
  const std::string from = test_uuid(1), first = test_uuid(2), second = test_uuid(3);
  const std::string layer = layer_uuid(1);
  ASSERT_EQ(create(request_for(from)), "created");
  put(from, "/kept", "text");
  ASSERT_EQ(seal(from, layer), "sealed");
  EXPECT_TRUE(launcher_->stored("spare-").empty()) << "nobody stands on it";
  const auto spares_are_there = [&] { return launcher_->stored("spare-").size() == 4; };
  ASSERT_EQ(create(on(first, layer)), "created");
  ASSERT_TRUE(wait_until(spares_are_there));
  EXPECT_TRUE(launcher_->stored("making-").empty());
  std::set<dev_t> ahead;
  for (const std::string& name : launcher_->stored("spare-"))
    ahead.insert(device_of(*launcher_, name));
  ASSERT_EQ(ahead.size(), 4U);
  EXPECT_FALSE(ahead.contains(0));
  EXPECT_FALSE(ahead.contains(device_of(*launcher_, first)));

  ASSERT_EQ(create(on(second, layer)), "created");
  EXPECT_TRUE(ahead.contains(device_of(*launcher_, second))) << "it took a spare";
  EXPECT_EQ(get(second, "/kept"), "got=text\n");
  put(second, "/own", "x");
  EXPECT_NE(run(second, {"identity", "/own"}), run(second, {"identity", "/kept"}));
  ASSERT_TRUE(wait_until(spares_are_there)) << "another one in its place";

  kill_the_worker();
  EXPECT_TRUE(launcher_->stored("spare-").empty()) << "a launcher takes over none";
  for (const std::string& id : {from, first, second}) ASSERT_EQ(destroy(id), "destroyed");
  ASSERT_EQ(create(on(first, layer)), "created");
  ASSERT_TRUE(wait_until(spares_are_there));
  ASSERT_EQ(destroy(first), "destroyed");
  ASSERT_EQ(remove_layer(layer), "removed");
  EXPECT_TRUE(launcher_->stored("").empty()) << "the spares go with their layer";
}

TEST_F(LayersTest, AForkSeesTheFilesAndDiverges) {
  const std::string source = test_uuid(1), fork = test_uuid(2), late = test_uuid(3);
  ASSERT_EQ(create(request_for(source)), "created");
  put(source, "/file", "of the source");
  auto request = request_for(fork);
  request.disk_of = source;
  ASSERT_EQ(create(request), "created");
  EXPECT_EQ(get(fork, "/file"), "got=of the source\n");
  put(fork, "/file", "of the fork");
  EXPECT_EQ(get(source, "/file"), "got=of the source\n");
  ASSERT_EQ(stop(fork), "stopped");
  ASSERT_EQ(create(request), "created");
  EXPECT_EQ(get(fork, "/file"), "got=of the fork\n") << "the first boot alone copies";
  ASSERT_EQ(destroy(source), "destroyed");
  EXPECT_EQ(get(fork, "/file"), "got=of the fork\n");

  request = request_for(late);
  request.disk_of = source;
  EXPECT_TRUE(create(request).starts_with("sandbox_not_found"));
  ASSERT_EQ(destroy(fork), "destroyed");
  expect_nothing_left(*launcher_);
  EXPECT_TRUE(launcher_->stored("making-").empty());
}

TEST_F(LayersTest, LimitsHoldAboveLayersAndInForks) {
  const std::string from = test_uuid(1), above = test_uuid(2), fork = test_uuid(3);
  ASSERT_EQ(create(request_for(from)), "created");  // 32 MiB
  ASSERT_NE(run(from, {"fill", "/big", "20"}).find("filled=ok"), std::string::npos);
  ASSERT_EQ(seal(from, layer_uuid(1)), "sealed");
  EXPECT_GE(sealed_.bytes, std::uint64_t{20} << 20);
  EXPECT_LT(sealed_.bytes, std::uint64_t{21} << 20);
  ASSERT_EQ(create(on(above, layer_uuid(1))), "created");
  auto request = request_for(fork);
  request.disk_of = from;
  ASSERT_EQ(create(request), "created");
  for (const std::string& id : {above, fork}) {
    EXPECT_NE(run(id, {"fill", "/more", "24"}).find("filled=ok"), std::string::npos) << id;
    EXPECT_NE(run(id, {"fill", "/most", "24"}).find("filled=Disk quota exceeded"),
              std::string::npos)
        << id;
  }
  // The layer keeps its files when the sandbox that wrote them goes.
  ASSERT_EQ(destroy(from), "destroyed");
  EXPECT_NE(run(above, {"identity", "/big"}).find("stat=ok"), std::string::npos);
}

TEST_F(LayersTest, HostsWithoutAPoolSaySo) {
  Config config;
  config.plain_disks = true;
  begin(config);
  const std::string id = test_uuid(1);
  ASSERT_EQ(create(request_for(id)), "created");
  const std::string refused = seal(id, layer_uuid(1));
  EXPECT_TRUE(refused.starts_with("no_layers")) << refused;
  EXPECT_NE(refused.find("apt-get install btrfs-progs"), std::string::npos) << refused;
  auto fork = request_for(test_uuid(2));
  fork.disk_of = id;
  EXPECT_TRUE(create(fork).starts_with("no_layers"));
  auto mounting = request_for(test_uuid(3));
  mounting.mounts = {{"/shared", layer_uuid(3), "", false}};
  EXPECT_TRUE(create(mounting).starts_with("no_layers"));
  EXPECT_TRUE(error_of(client_->ask(Type::kMakeVolume, wire::VolumeMsg{layer_uuid(3), 1 << 20, 0}))
                  .starts_with("no_layers"));
  EXPECT_TRUE(layers().empty());
  EXPECT_TRUE(volumes().empty());
  ASSERT_EQ(stop(id), "stopped");
  auto fresh = request_for(id);
  fresh.fresh_disk = true;
  EXPECT_EQ(create(fresh), "created");
}

// The process that seals, or makes a copy, is killed at each step. The layer is whole or not there,
// and the next launcher removes the rest.
class KilledSealTest : public LayersTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(KilledSealTest, LeavesAWholeLayerOrNone) {
  const std::string step = GetParam();
  Config config;
  config.fail_step = "die at " + step;
  begin(config);
  const std::string id = test_uuid(1), layer = layer_uuid(1);
  ASSERT_EQ(create(request_for(id)), "created");
  put(id, "/kept", "text");
  EXPECT_TRUE(seal(id, layer).starts_with("job_died"));
  kill_the_worker();
  const bool whole = step == "name the layer";
  EXPECT_EQ(layers().size(), whole ? 1U : 0U);
  EXPECT_EQ(launcher_->stored("layer-").size(), whole ? 1U : 0U);
  EXPECT_TRUE(launcher_->names_with(launcher_->data + "/layers", ".sealing").empty());
  restart_without_failing_steps();
  if (!whole) {
    ASSERT_EQ(seal(id, layer), "sealed");
  }
  ASSERT_EQ(create(on(test_uuid(2), layer)), "created");
  EXPECT_EQ(get(test_uuid(2), "/kept"), "got=text\n");
}

INSTANTIATE_TEST_SUITE_P(Steps, KilledSealTest,
                         ::testing::Values("begin a layer", "snapshot the disk",
                                           "describe the layer", "name the layer"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase_if(name, [](char c) {
                             return !std::isalnum(static_cast<unsigned char>(c));
                           });
                           return name;
                         });

TEST_F(LayersTest, AVolumeIsSharedAndLimited) {
  const std::string one = test_uuid(1), two = test_uuid(2), volume = layer_uuid(1);
  const wire::VolumeMsg wanted{volume, std::uint64_t{8} << 20, 0};
  ASSERT_EQ(type_of(client_->ask(Type::kMakeVolume, wanted)), Type::kOk);
  ASSERT_EQ(type_of(client_->ask(Type::kMakeVolume, wanted)), Type::kOk) << "idempotent";
  ASSERT_EQ(volumes().size(), 1U);
  EXPECT_EQ(volumes()[0].volume_id, volume);
  EXPECT_EQ(volumes()[0].limit_bytes, std::uint64_t{8} << 20);
  auto writes = request_for(one), reads = request_for(two);
  writes.mounts = {{"/a/shared", volume, "", false}};
  reads.mounts = {{"/b/shared", volume, "", true}};
  ASSERT_EQ(create(writes), "created");
  ASSERT_EQ(create(reads), "created");
  put(one, "/a/shared/file", "text");
  EXPECT_EQ(get(two, "/b/shared/file"), "got=text\n");
  EXPECT_NE(run(two, {"put", "/b/shared/file", "no"}).find("put=Read-only file system"),
            std::string::npos);
  EXPECT_NE(run(one, {"fill", "/a/shared/big", "16"}).find("filled=Disk quota exceeded"),
            std::string::npos);
  const std::string mounts = run(one, {"facts"});
  EXPECT_NE(mounts.find(" /a/shared rw,nosuid,nodev"), std::string::npos) << mounts;

  const auto remove = [&] {
    wire::VolumeMsg gone;
    gone.volume_id = volume;
    return client_->ask(Type::kRemoveVolume, gone);
  };
  EXPECT_TRUE(error_of(remove()).starts_with("volume_in_use"));
  kill_the_worker();
  EXPECT_TRUE(error_of(remove()).starts_with("volume_in_use")) << "the next launcher knows";
  ASSERT_EQ(volumes().size(), 1U) << "it is no sandbox's disk";
  ASSERT_EQ(stop(one), "stopped");
  ASSERT_EQ(destroy(two), "destroyed");
  EXPECT_EQ(type_of(remove()), Type::kOk);
  EXPECT_EQ(type_of(remove()), Type::kOk) << "idempotent";
  EXPECT_TRUE(volumes().empty());
  EXPECT_TRUE(create(writes).starts_with("volume_not_found"));
}

TEST_F(LayersTest, ALayerIsMountedReadOnlyAndHeld) {
  const std::string from = test_uuid(1), reader = test_uuid(2), layer = layer_uuid(1);
  ASSERT_EQ(create(request_for(from)), "created");
  put(from, "/own", "text");
  ASSERT_EQ(seal(from, layer), "sealed");
  auto request = request_for(reader);
  request.mounts = {{"/deep/layer", "", layer, false}};
  ASSERT_EQ(create(request), "created");
  EXPECT_EQ(get(reader, "/deep/layer/own"), "got=text\n");
  EXPECT_EQ(get(reader, "/deep/layer/bin/guest"), "got=!No such file or directory")
      << "the layer alone";
  EXPECT_NE(run(reader, {"put", "/deep/layer/own", "no"}).find("put=Read-only file system"),
            std::string::npos);
  EXPECT_TRUE(remove_layer(layer).starts_with("layer_in_use"));
  ASSERT_EQ(seal(reader, layer_uuid(2)), "sealed");
  const std::string store =
      "/proc/" + std::to_string(launcher_->guardian) + "/root" + launcher_->data + "/store/layer-";
  EXPECT_EQ(launcher_->names_with(store + layer_uuid(2) + "/upper", ""), kOnDisk)
      << "the directory that it is mounted on is on no disk";
  ASSERT_EQ(stop(reader), "stopped");
  EXPECT_EQ(remove_layer(layer), "removed");
}

// A link at the path of a mount leads nowhere.
TEST_F(LayersTest, AMountFollowsNoLink) {
  const std::string id = test_uuid(1), volume = layer_uuid(1);
  ASSERT_EQ(type_of(client_->ask(Type::kMakeVolume, wire::VolumeMsg{volume, 8 << 20, 0})),
            Type::kOk);
  ASSERT_EQ(create(request_for(id)), "created");
  ASSERT_EQ(stop(id), "stopped");
  const std::string victim = launcher_->data + "/victim";
  ASSERT_EQ(::mkdir(victim.c_str(), 0777), 0);
  const std::string upper = "/proc/" + std::to_string(launcher_->guardian) + "/root" +
                            launcher_->data + "/store/" + id + "/upper/";
  ASSERT_EQ(::symlink(victim.c_str(), (upper + "shared").c_str()), 0);
  auto request = request_for(id);
  request.mounts = {{"/shared", volume, "", false}};
  ASSERT_EQ(create(request), "created");
  put(id, "/shared/file", "text");
  EXPECT_TRUE(launcher_->names_with(victim, "").empty()) << "the host was written to";
  const std::string stored = "/proc/" + std::to_string(launcher_->guardian) + "/root" +
                             launcher_->data + "/store/volume-" + volume;
  EXPECT_EQ(launcher_->names_with(stored, "").size(), 1U) << "control: it is in the volume";
}

}  // namespace
}  // namespace cay::launcher::testing
