#include "server/key_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/testing/temp_dir.h"

namespace cay::server {
namespace {

class KeyFileTest : public ::testing::Test {
 protected:
  const cay::testing::TempDir dir_;
};

TEST_F(KeyFileTest, FileRoundTrip) {
  const std::string path = dir_.path() + "/keys";
  EXPECT_TRUE(load_keys(path)->records().empty());
  const SandboxId only("6f1c2a0e-8d54-4a43-9a55-0f6a8f0f3b11");
  ASSERT_TRUE(save_keys(path, {{"a", "t", hash_key("k1")},
                               {.name = "b",
                                .tenant = "t",
                                .hash = hash_key("k2"),
                                .scope = KeyScope::kUse,
                                .only = only,
                                .expires = 7'000'000'000'000,
                                .older = KeyRecord::Older{hash_key("k0"), 6'000'000'000'000},
                                .since = 77}}));
  const auto ring = load_keys(path);
  ASSERT_TRUE(ring);
  EXPECT_EQ(ring->find("k2")->key_name, "b");
  EXPECT_EQ(ring->find("k0")->only, only);
  EXPECT_EQ(ring->find("k2")->scope, KeyScope::kUse);
  EXPECT_EQ(ring->records()[1].expires, 7'000'000'000'000);
  EXPECT_EQ(ring->records()[1].older->until, 6'000'000'000'000);
  EXPECT_EQ(ring->find("k1")->scope, KeyScope::kCreate);
  EXPECT_EQ(ring->records()[0].since, 0);
  EXPECT_EQ(ring->records()[1].since, 77);
  struct stat facts{};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  std::ofstream(path, std::ios::app) << "broken line\n";
  EXPECT_EQ(load_keys(path).error().reason, "bad_key_file");
}

// A build from before scopes reads a setting as a hash, which it is not. So it refuses the file,
// and gives nobody more than was meant.
TEST_F(KeyFileTest, OnlyTheUsualKeyLooksAsItDidBefore) {
  const std::string path = dir_.path() + "/keys";
  ASSERT_TRUE(save_keys(
      path, {{.name = "a", .tenant = "t", .hash = hash_key("k"), .scope = KeyScope::kRead}}));
  std::ifstream in(path);
  std::string name, tenant, third;
  in >> name >> tenant >> third;
  EXPECT_EQ(third, "scope=read");
  ASSERT_TRUE(save_keys(path, {{"a", "t", hash_key("k")}}));
  std::ifstream usual(path);
  usual >> name >> tenant >> third;
  EXPECT_EQ(third, to_hex(hash_key("k")));
}

TEST_F(KeyFileTest, WhatWouldNotHoldIsRefused) {
  const std::string path = dir_.path() + "/keys";
  const std::string hash = to_hex(hash_key("k"));
  for (const char* words : {"scope=all", "scope", "scope=", "sandbox=box", "expires=soon",
                            "expires=-1", "expires=99999999999999999", "older=1:2", "only=x",
                            "scope=read,", "scope=use", "scope=read extra"}) {
    std::ofstream(path) << "a t " << words << " " << hash << "\n";
    EXPECT_EQ(load_keys(path).error().code, Code::kInvalidArgument) << words;
  }
  std::ofstream(path) << "# a comment\n\na t scope=read " << hash << "\n";
  EXPECT_TRUE(load_keys(path)) << "the control";
}

TEST_F(KeyFileTest, TheLastKeyTakesTheFileWithIt) {
  const std::string path = dir_.path() + "/keys";
  ASSERT_TRUE(save_keys(path, {{"a", "t", hash_key("k1")}}));
  ASSERT_TRUE(save_keys(path, {}));
  EXPECT_EQ(state_of(path), FileState());
  ASSERT_TRUE(save_keys(path, {}));
}

TEST_F(KeyFileTest, KeyFileIsMadeOnceAndPrivate) {
  const std::string path = dir_.path() + "/api-key";
  const auto first = ensure_key_file(path);
  ASSERT_TRUE(first);
  EXPECT_EQ(*ensure_key_file(path), *first);
  struct stat facts{};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

}  // namespace
}  // namespace cay::server
