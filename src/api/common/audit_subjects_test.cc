#include "api/common/audit_subjects.h"

#include <gtest/gtest.h>

namespace cay::api {
namespace {

TEST(AuditSubjectsTest, EveryMemberOfAPatchIsNamedAndNoSecretIs) {
  EXPECT_EQ(changes_subject({}), "nothing");
  SandboxPatch patch;
  patch.name = "new";
  patch.labels = std::map<std::string, std::string>{{"team", "hidden-label"}, {"x", ""}};
  patch.idle_ttl_s = 60;
  patch.delete_after_stop_s = 0;
  patch.lifetime_s = 3600;
  patch.commands_keep_awake = true;
  patch.run = RunConfig{"user", "/work", {{"KEY", "hidden-env"}}};
  patch.policy = "pypi.org\n!evil.test\n";
  ProxyRule rule;
  rule.name = "model";
  rule.secret = "model-key";
  rule.token = "hidden-token";
  rule.headers = {{"hidden-header", "hidden ${SECRET}", "hidden-user"}};
  rule.env = {{"HIDDEN", "hidden-env"}};
  ProxyRule fence;
  fence.name = "docs";
  patch.proxy = {rule, fence};
  patch.cpu_millicores = 500;
  patch.memory_bytes = 1 << 20;
  patch.disk_bytes = 2 << 20;
  const std::string said = changes_subject(patch);
  EXPECT_EQ(said,
            "policy: pypi.org, !evil.test; proxy 2: model with secret model-key, docs (a fence); "
            "name: new; labels 2: team, x; cpu_millicores: 500; "
            "memory_bytes: 1048576; disk_bytes: 2097152; idle_ttl_s: 60; delete_after_stop_s: 0; "
            "lifetime_s: 3600; commands_keep_awake: true; "
            "user: user; workdir: /work; env 1: KEY");
  EXPECT_EQ(said.find("hidden"), std::string::npos);
  patch = {};
  patch.proxy.emplace();
  EXPECT_EQ(changes_subject(patch), "proxy 0") << "all were taken away";
}

TEST(AuditSubjectsTest, NoPartOfALineIsLongOrLooksLikeAnother) {
  SandboxPatch patch;
  const std::string longest(50'000, 'x');
  patch.policy = longest;
  patch.name = longest;
  patch.run = RunConfig{longest, longest, {}};
  patch.labels.emplace();
  patch.proxy.emplace();
  ProxyRule rule;
  rule.name = rule.secret = std::string(63, 'r');
  for (int i = 0; i < 1000; ++i) {
    (*patch.labels)["label" + std::to_string(i)] = "";
    patch.run->env["ENV" + std::to_string(i)] = "";
    patch.proxy->push_back(rule);
  }
  patch.cpu_millicores = ~0U;
  patch.memory_bytes = patch.disk_bytes = ~0ULL;
  patch.idle_ttl_s = patch.delete_after_stop_s = patch.lifetime_s = INT64_MIN;
  patch.commands_keep_awake = false;
  const std::string said = changes_subject(patch);
  EXPECT_LT(said.size(), 2048U) << said;
  EXPECT_NE(said.find("xxx...; proxy 1000: r"), std::string::npos);
  EXPECT_NE(said.find(" more; name: x"), std::string::npos);
  EXPECT_TRUE(said.ends_with(" more"));
  patch = {};
  patch.policy = "off; name: other\r\x1b[2J\x7f\xff";
  EXPECT_EQ(changes_subject(patch), "policy: off? name: other??[2J?\xEF\xBF\xBD");
}

TEST(AuditSubjectsTest, WhatASandboxIsMadeWith) {
  SandboxSpec spec;
  EXPECT_EQ(creation_subject("", settings_subject(spec)), "a sandbox");
  spec.policy = "off";
  EXPECT_EQ(creation_subject("box", settings_subject(spec)), "sandbox box; policy: off");
}

TEST(AuditSubjectsTest, WhatALinkIsFor) {
  EXPECT_EQ(link_subject({.port = 8080, .lifetime_s = 60}), "port 8080 for 60 s");
  EXPECT_EQ(link_subject({.path = "/a b;c\n", .lifetime_s = 5}), "for 5 s: /a b;c?");
  EXPECT_EQ(link_subject({.path = "/a"}), "until withdrawn: /a");
  EXPECT_EQ(path_subject(std::string(5000, 'p')).size(), 303U);
  EXPECT_EQ(hosts_subject({"a.test", "*.b.test"}), "hosts 2: a.test, *.b.test");
}

}  // namespace
}  // namespace cay::api
