#include "server/key_ring.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace cay::server {
namespace {

class KeyRingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cay-keys-XXXXXX";
    dir_ = ::mkdtemp(name);
  }
  void TearDown() override { std::system(("rm -rf " + dir_).c_str()); }
  std::string dir_;
};

TEST_F(KeyRingTest, FindsOnlyTheRightKey) {
  KeyRing ring;
  const std::string key = new_key();
  ASSERT_TRUE(ring.add({"first", "t1", hash_key(key)}));
  ASSERT_TRUE(ring.find(key));
  EXPECT_EQ(ring.find(key)->tenant.get(), "t1");
  EXPECT_FALSE(ring.find(key + "x"));
  EXPECT_FALSE(ring.find(""));
  EXPECT_FALSE(ring.find(to_hex(hash_key(key))));  // the stored form opens nothing
  EXPECT_EQ(ring.add({"first", "t2", {}}).error().code, Code::kAlreadyExists);
  EXPECT_EQ(ring.add({"a b", "t2", {}}).error().code, Code::kInvalidArgument);
}

TEST_F(KeyRingTest, NewKeysDifferAndAreLong) {
  EXPECT_NE(new_key(), new_key());
  EXPECT_EQ(new_key().size(), 47u);
}

TEST_F(KeyRingTest, FileRoundTrip) {
  const std::string path = dir_ + "/keys";
  EXPECT_TRUE(load_keys(path)->records().empty());
  ASSERT_TRUE(append_key(path, {"a", "t", hash_key("k1")}));
  ASSERT_TRUE(append_key(path, {"b", "t", hash_key("k2")}));
  const auto ring = load_keys(path);
  ASSERT_TRUE(ring);
  EXPECT_EQ(ring->find("k2")->key_name, "b");
  struct stat facts{};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  std::ofstream(path, std::ios::app) << "broken line\n";
  EXPECT_EQ(load_keys(path).error().reason, "bad_key_file");
}

TEST_F(KeyRingTest, KeyFileIsMadeOnceAndPrivate) {
  const std::string path = dir_ + "/api-key";
  const auto first = ensure_key_file(path);
  ASSERT_TRUE(first);
  EXPECT_EQ(*ensure_key_file(path), *first);
  struct stat facts{};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

}  // namespace
}  // namespace cay::server
