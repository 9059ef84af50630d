#include "model/snapshot_request.h"

#include <gtest/gtest.h>

namespace cay {
namespace {

std::string normal(std::string_view text) {
  const auto read = image_reference_from(text);
  return read ? read->text() : "none";
}

std::string name_of(std::string_view text) {
  const auto read = image_reference_from(text);
  return read ? read->snapshot_name() : "none";
}

TEST(ImageReference, HasOneNormalFormForEachImage) {
  EXPECT_EQ(normal("python"), "docker.io/library/python:latest");
  EXPECT_EQ(normal("docker.io/library/python:latest"), normal("python"));
  EXPECT_EQ(normal("index.docker.io/python"), normal("python"));
  EXPECT_EQ(normal("python:3.12"), "docker.io/library/python:3.12");
  EXPECT_EQ(normal("team/app:1"), "docker.io/team/app:1");
  EXPECT_EQ(normal("localhost/app"), "localhost/app:latest");
  EXPECT_EQ(normal("localhost:5000/team/app:1"), "localhost:5000/team/app:1");
  EXPECT_EQ(normal("registry-1.docker.io/python"), normal("python"));
  const std::string digest = "sha256:" + std::string(64, 'a');
  EXPECT_EQ(normal("x@" + digest), "docker.io/library/x@" + digest);
  EXPECT_EQ(normal("[::1]:5000/x"), "[::1]:5000/x:latest");
}

TEST(ImageReference, NamesItsSnapshot) {
  EXPECT_EQ(name_of("python:3.12"), "python");
  EXPECT_EQ(name_of("docker.io/team/app"), "team/app");
  EXPECT_EQ(name_of("ghcr.io/team/app:1"), "ghcr.io/team/app");
  EXPECT_EQ(name_of("localhost:5000/app"), "localhost-5000/app");
}

TEST(ImageReference, RefusesWhatIsNone) {
  for (const auto* bad : {"", ":1", "a b", "x:", "x@", "x@sha256", "x@sha256:ab", "Team/App",
                          "a//b", "http://x/y", "-x", "x/", "x\n"}) {
    EXPECT_EQ(normal(bad), "none") << bad;
  }
  EXPECT_EQ(normal(std::string(2000, 'a')), "none");
}

TEST(SnapshotNames, HaveNoColon) {
  for (const auto* good : {"python", "team/app", "a", "ghcr.io/x_y/z-1"})
    EXPECT_TRUE(is_valid_snapshot_name(good)) << good;
  for (const auto* bad : {"", "a:b", "/a", "a/", ".a", "a b", "ü"})
    EXPECT_FALSE(is_valid_snapshot_name(bad)) << bad;
  EXPECT_TRUE(is_valid_snapshot_name(std::string(128, 'a')));
  EXPECT_FALSE(is_valid_snapshot_name(std::string(129, 'a')));
  EXPECT_TRUE(is_valid_tag("3.12-slim"));
  EXPECT_TRUE(is_valid_tag("_x"));
  for (const auto* bad : {"", ".x", "-x", "a/b", "a:b"}) EXPECT_FALSE(is_valid_tag(bad)) << bad;
}

}  // namespace
}  // namespace cay
