#include "api/daytona/create_json.h"

#include <gtest/gtest.h>

#include "api/daytona/notes.h"
#include "api/daytona/units.h"
#include "core/settings.h"

namespace cay::api::daytona {
namespace {

struct Read {
  NewSandbox made{};
  std::string complaint{};  // empty: none
  Code code = Code::kInvalidArgument;
};

Read read(const std::string& text) {
  DaytonaConfig config;
  config.maximum = core::Defaults{}.maximum;
  const auto body = codec::parse_object(text);
  EXPECT_TRUE(body) << text;
  codec::Fields fields(*body);
  auto made = read_new_sandbox(fields, config);
  if (const auto fine = fields.first_error(); !fine) return {{}, fine.error().message};
  if (!made) return {{}, made.error().message, made.error().code};
  return {*std::move(made)};
}

TEST(NewSandboxes, DefaultsAreTheVendors) {
  const auto spec = read("{}").made.spec;
  EXPECT_EQ(spec.idle_ttl_s, 15 * 60);
  EXPECT_EQ(spec.delete_after_stop_s, 0) << "never";
  EXPECT_EQ(spec.lifetime_s, 0);
  EXPECT_EQ(spec.policy, "packages");
  EXPECT_TRUE(spec.claim.empty());
  EXPECT_TRUE(spec.notes.empty());
}

TEST(NewSandboxes, WhatClientsSendIsRead) {
  const auto made = read(R"({"name":"box","user":"ada","env":{"A":"b"},"labels":{"l":"1"},
      "public":true,"cpu":2,"memory":4,"disk":10,"autoStopInterval":0,"autoArchiveInterval":0,
      "autoDeleteInterval":0,"ttlMinutes":5,"volumes":[{"volumeId":"v","mountPath":"/data"}],
      "secrets":[{"KEY":"model"}],"linkedSandbox":null,"target":"eu","queueTimeout":2,
      "gpu":0,"kvm":false,"spot":false,"autoPauseInterval":0})")
                        .made;
  const SandboxSpec& spec = made.spec;
  EXPECT_EQ(spec.name, "box");
  EXPECT_EQ(spec.run.user, "ada");
  EXPECT_EQ(spec.run.env.at("A"), "b");
  EXPECT_EQ(spec.labels.at("l"), "1");
  EXPECT_EQ(spec.limits.cpu_millicores, 2000u);
  EXPECT_EQ(spec.limits.memory_bytes, 4 * kGib);
  EXPECT_EQ(spec.limits.disk_bytes, 10 * kGib);
  EXPECT_EQ(spec.idle_ttl_s, 0);
  EXPECT_EQ(spec.delete_after_stop_s, 1);
  EXPECT_EQ(spec.lifetime_s, 300);
  EXPECT_EQ(spec.notes, (SandboxNotes{{kPublicNote, "1"}, {kAutoArchiveNote, "0"}}));
  ASSERT_EQ(spec.volumes.size(), 1u);
  EXPECT_EQ(spec.volumes[0], (VolumeMount{.volume = "v", .path = "/data", .shared = true}));
  ASSERT_EQ(spec.proxy.size(), 1u);
  EXPECT_EQ(spec.proxy[0].secret, "model");
  EXPECT_EQ(spec.proxy[0].way, ProxyWay::kPlaceholder);
  EXPECT_EQ(spec.proxy[0].env.at("KEY"), "${TOKEN}");
  EXPECT_EQ(made.options.timeout, std::chrono::minutes(2));
}

TEST(NewSandboxes, AThreadHasOneClaimUnlessItsSandboxIsNamed) {
  EXPECT_EQ(read(R"({"labels":{"thread_id":"7"}})").made.spec.claim, "daytona:thread_id=7");
  EXPECT_EQ(read(R"({"name":"n","labels":{"thread_id":"7"}})").made.spec.claim,
            "daytona:thread_id=7");
  EXPECT_EQ(read(R"({"labels":{"other":"7"}})").made.spec.claim, "");
  EXPECT_EQ(claim_of({{"thread_id", ""}}), "");
  // A claim has at most 200 printable bytes. A hash stands for what is no such text.
  const std::string of_line = claim_of({{"thread_id", "a\nb"}});
  EXPECT_EQ(of_line, claim_of({{"thread_id", "a\nb"}}));
  EXPECT_NE(of_line, claim_of({{"thread_id", "a\nc"}}));
  const std::string of_long = claim_of({{"thread_id", std::string(300, 'x')}});
  EXPECT_NE(of_long, claim_of({{"thread_id", std::string(301, 'x')}}));
  EXPECT_LE(of_long.size(), 200u);
}

TEST(NewSandboxes, WhatThisHostCannotGiveIsRefused) {
  for (const std::string& setting : std::vector<std::string>{
           R"("gpu":1)", R"("kvm":true)", R"("spot":true)", R"("outboundProxyUrl":"http://p")",
           R"("otelEndpointOverride":"http://o")", R"("autoPauseInterval":5)",
           R"("volumes":[{"volumeId":"v","mountPath":"/d","subpath":"s"}])",
           R"("autoStopInterval":-1)", R"("autoDeleteInterval":-2)", R"("cpu":0)",
           R"("secrets":[{"A B":"s"}])", R"("secrets":[{"A":"s"},{"A":"t"}])", R"("buildInfo":{})",
           R"("snapshot":"s","cpu":1)",
           R"("snapshot":"s","buildInfo":{"dockerfileContent":"FROM a"})"}) {
    EXPECT_NE(read("{" + setting + "}").complaint, "") << setting;
  }
  const auto much = read(R"({"cpu":1000})");
  EXPECT_EQ(much.code, Code::kExhausted);
  EXPECT_EQ(much.complaint, "CPU request 1000 exceeds maximum allowed per sandbox (16)");
}

TEST(NewSandboxes, NetworkSettingsBecomeAPolicy) {
  EXPECT_EQ(*policy_of({.block_all = true, .networks = "10.0.0.0/8"}, "open"), "off");
  EXPECT_EQ(*policy_of({}, "open"), "open");
  EXPECT_EQ(*policy_of({.networks = "10.0.0.0/8, 192.0.2.1/32", .domains = "a.test,*.b.test"}, ""),
            "default deny\n10.0.0.0/8\n192.0.2.1/32\na.test\n*.b.test");
  for (const std::string& list : std::vector<std::string>{"10.0.0.1", "host/8", "300.0.0.0/8"})
    EXPECT_FALSE(policy_of({.networks = list}, "")) << list;
  for (const std::string& list :
       std::vector<std::string>{"a b", "@pip", "!a.test", "https://a.test", "*"})
    EXPECT_FALSE(policy_of({.domains = list}, "")) << list;
  EXPECT_FALSE(policy_of({.domains = "a,b,c,d,e,f,g,h,i,j,k"}, ""));
}

TEST(NewSandboxes, ProgramsAreAtHomeUnlessTheSnapshotHasAUser) {
  SandboxSpec spec;
  SnapshotInfo snapshot;
  settle(spec, snapshot);
  EXPECT_EQ(spec.run.env.at("HOME"), "/home/daytona");
  EXPECT_EQ(spec.run.workdir, "/home/daytona");
  spec = {};
  snapshot.config.run.user = "node";
  settle(spec, snapshot);
  EXPECT_EQ(spec.run, RunConfig{});
  EXPECT_FALSE(read(R"({"user":"daytona"})").made.spec.run.user);
}

TEST(NewSandboxes, ABuildHasItsDockerfileAndContexts) {
  const auto made = read(R"({"buildInfo":{"dockerfileContent":"FROM a\n","contextHashes":["h"]},
                             "cpu":1})")
                        .made;
  EXPECT_EQ(made.dockerfile, "FROM a\n");
  EXPECT_EQ(made.contexts, std::vector<std::string>{"h"});
  EXPECT_EQ(made.spec.notes.at(kDockerfileNote), "FROM a\n");
}

}  // namespace
}  // namespace cay::api::daytona
