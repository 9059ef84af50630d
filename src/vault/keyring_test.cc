#include "vault/keyring.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_dir.h"
#include "base/unique_fd.h"

namespace cay::vault {
namespace {

class KeyringTest : public ::testing::Test {
 protected:
  Result<Keyring> open(const std::string& passphrase = "", const std::string& previous = "") const {
    Master master;
    master.passphrase = Wiped(passphrase);
    master.previous = Wiped(previous);
    return Keyring::open(directory.get(), std::move(master));
  }
  bool exists(const char* name) const { return std::filesystem::exists(path + "/" + name); }
  std::string bytes_of(const char* name) const {
    std::ifstream in(path + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const cay::testing::TempDir temp;
  const std::string& path = temp.path();
  const UniqueFd directory = temp.open();
};

TEST_F(KeyringTest, WhatItSealsOpensAfterARestartAndForTheSamePurposeAlone) {
  auto ring = open();
  ASSERT_TRUE(ring) << ring.error().message;
  const std::string sealed = *ring->seal("about", "value");
  const std::string key = ring->public_key();
  struct stat info{};
  ASSERT_EQ(::stat((path + "/key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  ring = open();
  ASSERT_TRUE(ring);
  EXPECT_EQ(ring->public_key(), key);
  EXPECT_EQ(ring->unseal("about", sealed)->view(), "value");
  EXPECT_FALSE(ring->unseal("another", sealed));
  EXPECT_FALSE(ring->unseal("about", sealed.substr(0, 4)));
}

TEST_F(KeyringTest, WithoutItsKeyNothingOpens) {
  ASSERT_TRUE(open());
  std::filesystem::rename(path + "/key", path + "/away");
  const auto locked = open();
  ASSERT_FALSE(locked);
  EXPECT_EQ(locked.error().reason, "vault_locked");
  EXPECT_FALSE(exists("key")) << "no other key is made beside what it could not open";
  std::filesystem::rename(path + "/away", path + "/key");
  EXPECT_TRUE(open()) << "the control";
}

TEST_F(KeyringTest, ARotationChangesEveryKeyAndLosesNothing) {
  auto ring = open();
  const std::string old_key = bytes_of("key"), sealed = *ring->seal("a", "value");
  ASSERT_TRUE(ring->begin_rotation());
  EXPECT_NE(bytes_of("key"), old_key);
  EXPECT_EQ(ring->unseal("a", sealed)->view(), "value");
  ring = open();
  ASSERT_TRUE(ring) << "killed in between";
  EXPECT_EQ(ring->unseal("a", sealed)->view(), "value");
  const std::string again = *ring->seal("a", "value");
  ASSERT_TRUE(ring->end_rotation());
  ring = open();
  EXPECT_EQ(ring->data_keys(), 1U);
  EXPECT_FALSE(ring->unseal("a", sealed)) << "the old key is forgotten";
  EXPECT_EQ(ring->unseal("a", again)->view(), "value");
}

TEST_F(KeyringTest, AKillBetweenAnyTwoStepsOfARotationLosesNothing) {
  auto ring = open();
  const std::string sealed = *ring->seal("a", "value");
  const std::string old_key = bytes_of("key");
  ASSERT_TRUE(ring->begin_rotation());
  const std::string new_ring = bytes_of("keyring");
  // Rebuilds the state of a kill between two steps: the ring is written for both keys, and the file
  // is the old one. The ring is the next rotation's first step, with the file put back.
  const std::string before_key = bytes_of("key");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  ASSERT_TRUE(ring->begin_rotation());
  std::ofstream(path + "/key", std::ios::binary) << before_key;
  const auto reopened = open();
  // The last step has been done, so the file that was put back opens nothing: what was between them
  // is seen below.
  EXPECT_FALSE(reopened);
  std::ofstream(path + "/keyring", std::ios::binary) << new_ring;
  ring = open();
  ASSERT_TRUE(ring);
  EXPECT_EQ(ring->unseal("a", sealed)->view(), "value");
  EXPECT_NE(old_key, before_key);
}

TEST_F(KeyringTest, APassphraseInsteadOfAFileAndBack) {
  auto ring = open();
  const std::string sealed = *ring->seal("a", "value");
  ring = open("correct horse battery");
  ASSERT_TRUE(ring) << ring.error().message;
  EXPECT_FALSE(exists("key")) << "the file would open it too";
  EXPECT_EQ(ring->unseal("a", sealed)->view(), "value");
  EXPECT_FALSE(open()) << "without it";
  EXPECT_FALSE(open("wrong horse battery"));
  ring = open("another passphrase", "correct horse battery");
  ASSERT_TRUE(ring);
  EXPECT_FALSE(open("correct horse battery")) << "the former opens it no more";
  ring = open("another passphrase");
  ASSERT_TRUE(ring);
  ASSERT_TRUE(ring->begin_rotation());
  ring = open("another passphrase");
  ASSERT_TRUE(ring) << "a rotation keeps the passphrase";
  EXPECT_EQ(ring->unseal("a", sealed)->view(), "value");
  ring = open("", "another passphrase");
  ASSERT_TRUE(ring);
  EXPECT_TRUE(exists("key"));
  EXPECT_EQ(open()->unseal("a", sealed)->view(), "value");
}

TEST_F(KeyringTest, NoKeyStandsInTheRingInClear) {
  auto ring = open();
  const std::string key = bytes_of("key");
  EXPECT_EQ(bytes_of("keyring").find(key), std::string::npos);
  EXPECT_EQ(key.size(), 32U);
}

TEST_F(KeyringTest, ARingThatIsGoneIsNotMadeAnewBesideWhatItSealed) {
  ASSERT_TRUE(open());
  std::filesystem::remove(path + "/keyring");
  auto ring = open();
  ASSERT_TRUE(ring) << "the control: nothing was sealed: " << ring.error().message;
  const std::string sealed = *ring->seal("a", "value");
  std::filesystem::rename(path + "/keyring", path + "/away");
  const auto refused = open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "vault_locked");
  EXPECT_NE(refused.error().message.find("put it back"), std::string::npos);
  EXPECT_FALSE(exists("keyring"));
  std::filesystem::rename(path + "/away", path + "/keyring");
  EXPECT_EQ(open()->unseal("a", sealed)->view(), "value");
  std::filesystem::remove(path + "/keyring");
  std::filesystem::remove(path + "/sealed");
  std::ofstream(path + "/some-sandbox.grant") << "of a release that wrote no `sealed`";
  EXPECT_FALSE(open());
  std::filesystem::remove(path + "/some-sandbox.grant");
  EXPECT_TRUE(open()) << "as the message says";
}

}  // namespace
}  // namespace cay::vault
