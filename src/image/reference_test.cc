#include "image/reference.h"

#include <gtest/gtest.h>

namespace cay::image {
namespace {

const std::string kDigest = "sha256:" + std::string(64, 'a');

TEST(Reference, HasDockersNormalForm) {
  struct Row {
    std::string text, name, tag, digest, host;
  };
  const Row rows[] = {
      {"python:3.12", "docker.io/library/python", "3.12", "", "registry-1.docker.io"},
      {"python", "docker.io/library/python", "latest", "", "registry-1.docker.io"},
      {"team/app:v1", "docker.io/team/app", "v1", "", "registry-1.docker.io"},
      {"docker.io/python", "docker.io/library/python", "latest", "", "registry-1.docker.io"},
      {"index.docker.io/team/app", "docker.io/team/app", "latest", "", "registry-1.docker.io"},
      {"localhost/x", "localhost/x", "latest", "", "localhost"},
      {"localhost:5000/x:1", "localhost:5000/x", "1", "", "localhost:5000"},
      {"ghcr.io/a/b/c@" + kDigest, "ghcr.io/a/b/c", "", kDigest, "ghcr.io"},
      {"a.example:5000/b:t@" + kDigest, "a.example:5000/b", "t", kDigest, "a.example:5000"},
      {"[::1]:5000/x", "[::1]:5000/x", "latest", "", "[::1]:5000"},
  };
  for (const Row& row : rows) {
    const auto got = parse_reference(row.text);
    ASSERT_TRUE(got) << row.text << ": " << got.error().message;
    EXPECT_EQ(got->name(), row.name);
    EXPECT_EQ(got->tag, row.tag);
    EXPECT_EQ(got->digest, row.digest);
    EXPECT_EQ(got->host(), row.host);
    EXPECT_EQ(got->version(), row.digest.empty() ? row.tag : row.digest);
  }
}

TEST(Reference, RefusesOthers) {
  for (const std::string text :
       {"", ":1", "Python", "a//b", "/a", "a/", "a:", "a:b c", "a@sha256:12", "a@md5:aa", "a..b",
        "a b", "localhost:0/x", "localhost:99999/x", "-a.example/x", "a.example/../x", "x\n",
        "http://a.example/x"}) {
    const auto got = parse_reference(text);
    ASSERT_FALSE(got) << text;
    EXPECT_EQ(got.error().reason, "bad_reference");
  }
}

// "library/" counts, so that what is shown and kept can be read again.
TEST(Reference, AnOfficialImageIsAsLongAsAnyOther) {
  const std::string most(255 - std::string("library/").size(), 'a');
  const auto got = parse_reference(most);
  ASSERT_TRUE(got);
  EXPECT_TRUE(parse_reference(got->name()));
  EXPECT_FALSE(parse_reference(most + "a"));
  EXPECT_TRUE(parse_reference("a.example/" + std::string(255, 'a')));
}

}  // namespace
}  // namespace cay::image
