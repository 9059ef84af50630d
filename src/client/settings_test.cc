// The SDK's types have the settings of a sandbox (model/sandbox_settings.h).
#include <gtest/gtest.h>

#include "client/json_read.h"
#include "client/json_write.h"
#include "model/sandbox.h"
#include "model/sandbox_settings.h"

namespace cay::client {
namespace {

template <class Object>
std::vector<std::string_view> names_in() {
  std::vector<std::string_view> out;
  Object object;
  cay::visit_settings(object,
                      [&out](const Setting& setting, auto&) { out.push_back(setting.name); });
  return out;
}

TEST(SettingsTest, TheSdkNamesThemAll) {
  EXPECT_EQ(names_in<sdk::CreateOptions>(), names_in<SandboxSpec>());
  EXPECT_EQ(names_in<sdk::SandboxInfo>(), names_in<Sandbox>());
  EXPECT_EQ(names_in<sdk::UpdateOptions>(), names_in<SandboxPatch>());
}

TEST(SettingsTest, ACreateHoldsWhatWasGiven) {
  sdk::CreateOptions options;
  options.wait = false;
  EXPECT_EQ(codec::write(create_body(options)), R"({"wait":false})");
  options.idle_ttl_s = 0;
  options.commands_keep_awake = false;
  options.record_programs = true;
  options.profile = "strict";
  options.tmpfs = {{"/cache", 4096}};
  options.volumes = {{.volume = "data", .path = "/data"}};
  options.read_only_paths = {"/repo"};
  options.hidden_paths = {"/secrets", "/.env"};
  EXPECT_EQ(codec::write(create_body(options)),
            R"({"idle_ttl_s":0,"commands_keep_awake":false,"record_programs":true,)"
            R"("profile":"strict","tmpfs":{"/cache":4096},"volumes":[{"volume":"data",)"
            R"("path":"/data","read_only":false,"shared":false}],"read_only_paths":["/repo"],)"
            R"("hidden_paths":["/secrets","/.env"],"wait":false})");
  options.profile = "\xff";
  EXPECT_ANY_THROW(create_body(options)) << "JSON carries text";
}

TEST(SettingsTest, APatchMayTakeAllPathsAway) {
  sdk::UpdateOptions options;
  options.hidden_paths.emplace();
  options.read_only_paths = {"/repo"};
  EXPECT_EQ(codec::write(update_body(options)),
            R"({"read_only_paths":["/repo"],"hidden_paths":[]})");
}

TEST(SettingsTest, AClaimIsABodyOfItsOwn) {
  sdk::CreateOptions options;
  options.wait = false;
  EXPECT_EQ(codec::write(ensure_body("thread:1", options)), R"({"wait":false,"claim":"thread:1"})");
  EXPECT_EQ(sandbox_from({{"claim", "thread:1"}}).claim, "thread:1");
  EXPECT_EQ(sandbox_from({}).claim, "") << "a daemon of before there were claims";
}

TEST(SettingsTest, AnAnswerIsReadTolerantly) {
  const json::array volumes{{{"volume", "v"}, {"path", "/v"}, {"shared", true}}};
  const auto info = sandbox_from(
      {{"lifetime_s", 60}, {"profile", "nested"}, {"tmpfs", {{"/a", 5}}}, {"volumes", volumes}});
  EXPECT_EQ(info.lifetime_s, 60);
  EXPECT_EQ(info.profile, "nested");
  EXPECT_EQ(info.tmpfs, (std::map<std::string, std::uint64_t>{{"/a", 5}}));
  EXPECT_EQ(info.volumes,
            (std::vector<sdk::VolumeMount>{{.volume = "v", .path = "/v", .shared = true}}));
  EXPECT_EQ(info.idle_ttl_s, 0);
  EXPECT_TRUE(info.hidden_paths.empty()) << "a daemon of before there were rules";
  EXPECT_EQ(sandbox_from({{"hidden_paths", {"/a", 1}}}).hidden_paths,
            (std::vector<std::string>{"/a"}));
}

}  // namespace
}  // namespace cay::client
