#include "codec/build_json.h"

#include <gtest/gtest.h>

namespace cay::codec {
namespace {

BuildRequest full_build() {
  BuildRequest out;
  out.dockerfile = "FROM python:3.12\nRUN true\n";
  out.target = "final";
  out.arguments = {{"VERSION", "1"}};
  out.secrets = {{"token", "value"}};
  out.policy = "packages";
  out.no_cache = true;
  out.pull = true;
  out.logins = {{"localhost:5000", {"me", "password", ""}}};
  out.platform = "linux/amd64";
  return out;
}

Result<BuildRequest> read(const json::object& object, NewSnapshot& made) {
  Fields fields(object);
  BuildRequest out;
  read_build(fields, out, made);
  fields.refuse_unknown();
  CAY_CHECK(fields.first_error());
  return out;
}

TEST(BuildJson, ARequestComesBackAsItWasWritten) {
  NewSnapshot made;
  made.name = "app";
  made.tag = "1";
  made.labels = {{"k", "v"}};
  NewSnapshot read_made;
  const auto back = read(*parse_object(write(to_json(full_build(), made))), read_made);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->dockerfile, full_build().dockerfile);
  EXPECT_EQ(back->target, "final");
  EXPECT_EQ(back->arguments, full_build().arguments);
  EXPECT_EQ(back->secrets, full_build().secrets);
  EXPECT_EQ(back->policy, "packages");
  EXPECT_TRUE(back->no_cache);
  EXPECT_TRUE(back->pull);
  EXPECT_EQ(back->logins, full_build().logins);
  EXPECT_EQ(back->platform, "linux/amd64");
  EXPECT_EQ(read_made, made);
}

TEST(BuildJson, WhatIsMissingOrUnknownIsNamed) {
  NewSnapshot made;
  EXPECT_TRUE(read(*parse_object("{}"), made).error().message.starts_with("dockerfile:"));
  const auto login =
      read(*parse_object(R"({"dockerfile":"FROM a","logins":{"h":{"user":"x"}}})"), made);
  EXPECT_TRUE(login.error().message.starts_with("logins.h.user:")) << login.error().message;
  EXPECT_FALSE(read(*parse_object(R"({"dockerfile":"FROM a","logins":{"h":1}})"), made));
  EXPECT_FALSE(read(*parse_object(R"({"dockerfile":"FROM a","built":true})"), made));
  NewSnapshot other;
  const auto rules =
      read(*parse_object(R"({"dockerfile":"FROM a","rules":["a.test","b.test"]})"), other);
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_EQ(rules->policy, "a.test\nb.test\n");
}

TEST(BuildJson, ALogComesBackAsItWasWritten) {
  BuildLog log;
  log.snapshot = SnapshotId("s");
  log.state = "failed";
  log.from = 5;
  log.text = "step\n";
  log.end = 10;
  log.message = "line 2: no";
  log.reason = "build_failed";
  const auto back = build_log_from(to_json(log));
  ASSERT_TRUE(back);
  EXPECT_EQ(to_json(*back), to_json(log));
  EXPECT_EQ(back->text, "step\n");
  EXPECT_EQ(back->end, 10U);
  EXPECT_EQ(back->reason, "build_failed");
  EXPECT_FALSE(build_log_from(json::value("x")));
}

}  // namespace
}  // namespace cay::codec
