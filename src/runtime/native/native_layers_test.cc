// Layers and volumes through NativeRuntime, against a scripted launcher.
#include "runtime/native/native_layers.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>

#include "async/testing.h"
#include "base/testing/temp_dir.h"
#include "runtime/keeper/testing/fake_peer.h"
#include "runtime/native/native_runtime.h"
#include "wire/launcher_features.h"

namespace cay::runtime {
namespace {

using cay::testing::TempDir;
using testing::FakeHost;
using testing::FakePeer;
namespace feature = wire::launcher_feature;

constexpr const char* kBuilder = "6f1c2a34-0000-4000-8000-000000000001";
constexpr const char* kTopLayer = "6f1c2a34-0000-4000-8000-0000000000aa";
constexpr const char* kLowerLayer = "6f1c2a34-0000-4000-8000-0000000000bb";

class NativeLayersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(temp_.path() + "/run");
    host_ = std::make_unique<FakeHost>(loop_.get_executor(), socket());
  }
  std::string socket() const { return temp_.path() + "/run/launcher.sock"; }
  NativeConfig config() const {
    return {.data = temp_.path(), .instance = "", .build = "test", .launcher_limit = Millis{5000}};
  }
  static std::vector<std::string> words(std::vector<std::string_view> some) {
    return {some.begin(), some.end()};
  }
  // A launcher that greets with these features.
  asio::awaitable<FakePeer> launcher(std::vector<std::string> features) {
    auto peer = co_await host_->accept();
    co_await peer.greet("launcher", {}, std::move(features));
    co_return peer;
  }
  static core::BootSpec boot_spec() {
    core::BootSpec spec;
    spec.id = SandboxId(kBuilder);
    spec.hostname = "box";
    return spec;
  }
  static wire::LayerMsg layer() {
    return {.layer_id = kTopLayer, .below = {kLowerLayer}, .bytes = 4096};
  }

  asio::io_context loop_;
  const TempDir temp_;
  std::unique_ptr<FakeHost> host_;
};

TEST_F(NativeLayersTest, SealsListsAndRemoves) {
  NativeRuntime runtime(loop_.get_executor(), config());
  auto theirs = [&]() -> asio::awaitable<void> {
    auto peer = co_await launcher(words({feature::kLayers}));
    auto seal = co_await peer.read();
    EXPECT_EQ(seal.type, static_cast<std::uint16_t>(wire::Type::kSealLayer));
    const auto wanted = wire::decode<wire::SealLayer>(seal.payload);
    EXPECT_TRUE(wanted && wanted->sandbox_id == kBuilder && wanted->layer_id == kTopLayer);
    co_await peer.write(wire::Type::kLayer, seal.channel, layer());
    auto list = co_await peer.read();
    EXPECT_EQ(list.type, static_cast<std::uint16_t>(wire::Type::kListLayers));
    co_await peer.write(wire::Type::kLayer, list.channel, layer());
    co_await peer.write(wire::Type::kEof, list.channel, wire::Eof{});
    auto gone = co_await peer.read();
    EXPECT_EQ(gone.type, static_cast<std::uint16_t>(wire::Type::kRemoveSnapshot));
    EXPECT_EQ(wire::decode<wire::SnapshotMsg>(gone.payload)->id, kTopLayer);
    co_await peer.write(wire::Type::kOk, gone.channel, std::string());
  };
  auto ours = [&]() -> asio::awaitable<void> {
    core::Layers& layers = *runtime.layers();
    auto sealed = co_await layers.seal(SandboxId(kBuilder), LayerId(kTopLayer));
    EXPECT_TRUE(sealed);
    if (sealed) EXPECT_EQ(sealed->below, std::vector<LayerId>{LayerId(kLowerLayer)});
    if (sealed) EXPECT_EQ(sealed->bytes, 4096U);
    auto all = co_await layers.list();
    EXPECT_TRUE(all);
    if (all) EXPECT_EQ(all->size(), 1U);
    auto removed = co_await layers.remove(LayerId(kTopLayer));
    EXPECT_TRUE(removed);
  };
  testing::play(loop_, theirs(), ours());
}

TEST_F(NativeLayersTest, ASealThatLostItsAnswerFindsTheLayerThatItMade) {
  NativeRuntime runtime(loop_.get_executor(), config());
  auto theirs = [&]() -> asio::awaitable<void> {
    {
      auto peer = co_await launcher(words({feature::kLayers}));
      auto seal = co_await peer.read();
      host_.reset();
      peer.close();
    }
    host_ = std::make_unique<FakeHost>(loop_.get_executor(), socket());
    auto peer = co_await launcher(words({feature::kLayers}));
    auto seal = co_await peer.read();
    co_await peer.write(wire::Type::kError, seal.channel,
                        wire::ErrorMsg{static_cast<std::uint32_t>(Code::kAlreadyExists),
                                       "layer_exists", "there is one", 0});
    auto list = co_await peer.read();
    co_await peer.write(wire::Type::kLayer, list.channel, layer());
    co_await peer.write(wire::Type::kEof, list.channel, wire::Eof{});
  };
  auto ours = [&]() -> asio::awaitable<void> {
    auto sealed = co_await runtime.layers()->seal(SandboxId(kBuilder), LayerId(kTopLayer));
    EXPECT_TRUE(sealed);
    if (sealed) EXPECT_EQ(sealed->id, LayerId(kTopLayer));
  };
  testing::play(loop_, theirs(), ours());
}

TEST_F(NativeLayersTest, AnExistingLayerIsAConflictForWhoAskedOnce) {
  NativeRuntime runtime(loop_.get_executor(), config());
  auto theirs = [&]() -> asio::awaitable<void> {
    auto peer = co_await launcher(words({feature::kLayers}));
    auto seal = co_await peer.read();
    co_await peer.write(wire::Type::kError, seal.channel,
                        wire::ErrorMsg{static_cast<std::uint32_t>(Code::kAlreadyExists),
                                       "layer_exists", "there is one", 0});
  };
  auto ours = [&]() -> asio::awaitable<void> {
    auto sealed = co_await runtime.layers()->seal(SandboxId(kBuilder), LayerId(kTopLayer));
    EXPECT_FALSE(sealed);
    if (!sealed) EXPECT_EQ(sealed.error().reason, "layer_exists");
  };
  testing::play(loop_, theirs(), ours());
}

TEST_F(NativeLayersTest, VolumesAreMadeListedAndRemoved) {
  NativeRuntime runtime(loop_.get_executor(), config());
  auto theirs = [&]() -> asio::awaitable<void> {
    auto peer = co_await launcher(words({feature::kMounts}));
    auto make = co_await peer.read();
    EXPECT_EQ(make.type, static_cast<std::uint16_t>(wire::Type::kMakeVolume));
    EXPECT_EQ(wire::decode<wire::VolumeMsg>(make.payload)->limit_bytes, 1024U);
    co_await peer.write(wire::Type::kOk, make.channel, std::string());
    auto list = co_await peer.read();
    co_await peer.write(wire::Type::kVolume, list.channel, wire::VolumeMsg{kTopLayer, 1024, 7});
    co_await peer.write(wire::Type::kEof, list.channel, wire::Eof{});
    auto gone = co_await peer.read();
    EXPECT_EQ(gone.type, static_cast<std::uint16_t>(wire::Type::kRemoveVolume));
    co_await peer.write(wire::Type::kOk, gone.channel, std::string());
  };
  auto ours = [&]() -> asio::awaitable<void> {
    core::VolumeDisks& volumes = *runtime.volumes();
    auto made = co_await volumes.make(VolumeId(kTopLayer), 1024);
    EXPECT_TRUE(made);
    auto all = co_await volumes.list();
    EXPECT_TRUE(all && all->size() == 1 && all->front().second == 7);
    auto removed = co_await volumes.remove(VolumeId(kTopLayer));
    EXPECT_TRUE(removed);
  };
  testing::play(loop_, theirs(), ours());
}

TEST_F(NativeLayersTest, ABootNamesItsDiskToTheLauncher) {
  NativeRuntime runtime(loop_.get_executor(), config());
  auto theirs = [&]() -> asio::awaitable<void> {
    auto peer = co_await launcher(words({feature::kLayers, feature::kForks, feature::kMounts}));
    auto create = co_await peer.read();
    const auto request = wire::decode<wire::CreateSandbox>(create.payload).value();
    EXPECT_EQ(request.snapshot_id, kTopLayer);
    EXPECT_EQ(request.disk_of, kLowerLayer);
    EXPECT_TRUE(request.fresh_disk);
    EXPECT_TRUE(request.builds_layer);
    EXPECT_EQ(request.mounts.size(), 1U);
    if (request.mounts.size() == 1) {
      EXPECT_EQ(request.mounts[0].path, "/layer");
      EXPECT_EQ(request.mounts[0].layer_id, kLowerLayer);
      EXPECT_TRUE(request.mounts[0].read_only);
    }
    co_await peer.write(
        wire::Type::kError, create.channel,
        wire::ErrorMsg{static_cast<std::uint32_t>(Code::kExhausted), "no_slots", "full", 0});
  };
  auto ours = [&]() -> asio::awaitable<void> {
    auto spec = boot_spec();
    spec.layer = LayerId(kTopLayer);
    spec.disk_of = SandboxId(kLowerLayer);
    spec.fresh_disk = true;
    spec.builds_layer = true;
    spec.mounts = {{.path = "/layer", .layer = LayerId(kLowerLayer), .read_only = true}};
    auto box = co_await runtime.boot(std::move(spec));
    EXPECT_FALSE(box);
  };
  testing::play(loop_, theirs(), ours());
}

// The launcher is met by the create only, so the box that it made is removed.
TEST_F(NativeLayersTest, AnOlderLauncherThatIgnoredTheDiskIsUndone) {
  NativeRuntime runtime(loop_.get_executor(), config());
  auto theirs = [&]() -> asio::awaitable<void> {
    auto peer = co_await launcher({});
    auto create = co_await peer.read();
    wire::Created created;
    created.sandbox_id = kBuilder;
    co_await peer.write(wire::Type::kCreated, create.channel, created);
    auto undo = co_await peer.read();
    EXPECT_EQ(undo.type, static_cast<std::uint16_t>(wire::Type::kDestroy));
    co_await peer.write(wire::Type::kOk, undo.channel, std::string());
  };
  auto ours = [&]() -> asio::awaitable<void> {
    auto spec = boot_spec();
    spec.disk_of = SandboxId(kLowerLayer);
    auto box = co_await runtime.boot(spec);
    EXPECT_FALSE(box);
    if (!box) EXPECT_EQ(box.error().reason, "no_layers");
    // By now its features are known: nothing is sent.
    auto again = co_await runtime.boot(spec);
    EXPECT_FALSE(again);
    auto sealed = co_await runtime.layers()->seal(SandboxId(kBuilder), LayerId(kTopLayer));
    EXPECT_FALSE(sealed);
    if (!sealed) EXPECT_EQ(sealed.error().code, Code::kUnsupported);
    if (!sealed) EXPECT_NE(sealed.error().message.find("restart it"), std::string::npos);
    auto volumes = co_await runtime.volumes()->list();
    EXPECT_FALSE(volumes);
  };
  testing::play(loop_, theirs(), ours());
}

TEST(LayerFeaturesTest, EachWishNeedsItsOwnWord) {
  const auto hello = [](std::vector<std::string_view> some) {
    wire::Hello launcher;
    launcher.role = "launcher";
    launcher.features.assign(some.begin(), some.end());
    return launcher;
  };
  core::BootSpec plain;
  core::BootSpec fork;
  fork.disk_of = SandboxId(kBuilder);
  core::BootSpec fresh;
  fresh.fresh_disk = true;
  core::BootSpec builder;
  builder.builds_layer = true;
  core::BootSpec mounts;
  mounts.mounts = {{.path = "/v", .volume = VolumeId(kTopLayer)}};
  EXPECT_TRUE(check_layer_features(plain, hello({})));
  const std::pair<const core::BootSpec*, std::string_view> wishes[] = {{&fork, feature::kForks},
                                                                       {&fresh, feature::kLayers},
                                                                       {&builder, feature::kLayers},
                                                                       {&mounts, feature::kMounts}};
  for (const auto& [spec, word] : wishes) {
    EXPECT_TRUE(check_layer_features(*spec, wire::Hello{}));  // not met yet
    EXPECT_TRUE(check_layer_features(*spec, hello({word})));
    const auto refused = check_layer_features(*spec, hello({feature::kTmpfs}));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().reason, "no_layers");
  }
}

}  // namespace
}  // namespace cay::runtime
