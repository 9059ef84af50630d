#include "codec/snapshot_json.h"

#include <gtest/gtest.h>

namespace cay::codec {
namespace {

NewSnapshot full_request() {
  NewSnapshot out;
  out.name = "team/app";
  out.tag = "1.0";
  out.config = ImageConfig{.run = {.user = "app", .workdir = "/srv", .env = {{"A", "1"}}},
                           .entrypoint = {"/entry"},
                           .command = {"serve", ""},
                           .labels = {{"k", "v"}},
                           .ports = {"80/tcp"}};
  out.run.env = {{"B", "2"}};
  out.run.user = "0";
  out.labels = {{"x", "y"}};
  out.disk_bytes = 1ull << 33;
  out.built = true;
  return out;
}

TEST(SnapshotJson, ARequestComesBackAsItWasWritten) {
  const ImageSource source{"python:3.12", "linux/arm64", {"me", "secret", "token"}};
  const auto object = *parse_object(write(to_json(source, full_request())));
  Fields fields(object);
  ImageSource read_source;
  NewSnapshot read;
  read_image_source(fields, read_source);
  read_new_snapshot(fields, read);
  fields.refuse_unknown();
  EXPECT_TRUE(fields.ok()) << fields.first_error().error().message;
  EXPECT_EQ(read_source, source);
  EXPECT_EQ(read, full_request());
}

TEST(SnapshotJson, AnAnswerComesBackAsItWasWritten) {
  SnapshotInfo info;
  info.id = SnapshotId("s");
  info.name = "python";
  info.status = kSnapshotBuilding;
  info.status_message = "layer 2 of 5";
  info.used_bytes = 7;
  info.own_bytes = 3;
  info.origin = kFromRegistry;
  info.image_name = "python:3.12";
  info.digest = "sha256:x";
  info.source_sandbox = SandboxId("b");
  info.config = *full_request().config;
  info.tags = {"3.12", "latest"};
  info.disk_bytes = 9;
  info.created_by = "key";
  info.created_at = 1'800'000'000'000;
  info.updated_at = 1'800'000'001'000;
  const auto back = snapshot_from(to_json(info));
  ASSERT_TRUE(back);
  json::object expected = to_json(info);
  expected["runtime"] = std::string(kNativeRuntime);
  expected["host"] = true;
  EXPECT_EQ(to_json(*back), expected);
  EXPECT_EQ(back->config, info.config);
  EXPECT_EQ(back->tags, info.tags);
  EXPECT_FALSE(snapshot_from(json::value(1)));
}

TEST(SnapshotJson, AForkHasNamesOrACount) {
  ForkRequest request;
  const auto read = [&](const char* body) {
    const auto object = *parse_object(body);
    Fields fields(object);
    request = {};
    read_fork(fields, request);
    fields.refuse_unknown();
    return fields.ok();
  };
  EXPECT_TRUE(read(R"({"count":3,"labels":{"a":"b"}})"));
  EXPECT_EQ(request.count, 3u);
  EXPECT_TRUE(read(R"({"names":["a","b"]})"));
  EXPECT_EQ(request.names.size(), 2u);
  EXPECT_FALSE(read(R"({"count":0})"));
  EXPECT_FALSE(read(R"({"names":["a","b"],"count":3})"));
}

}  // namespace
}  // namespace cay::codec
