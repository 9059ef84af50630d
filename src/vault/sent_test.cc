#include "vault/sent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/testing/stepped_clock.h"
#include "vault/testing/vault_fixture.h"

namespace cay::vault {
namespace {

class SentSecretsTest : public testing::VaultFixture {
 protected:
  wire::VaultSecret secret(std::uint64_t version, const std::string& value, const std::string& name = "key", const std::string& host = "api.test") const {
    wire::VaultSecret out{"t", name, version, {host}, ""};
    out.sealed = *keys->seal(about_secret(out), value);
    return out;
  }
  std::vector<std::string> at(const std::string& host, const std::string& tenant = "t") const {
    std::vector<std::string> out;
    for (const Wiped& one : sent->of_host(tenant, host)) out.emplace_back(one.view());
    std::ranges::sort(out);
    return out;
  }
  void reopen() {
    sent = std::make_unique<SentSecrets>(directory.get(), *keys, clock);
    sent->open();
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::ranges::count_if(std::filesystem::directory_iterator(temp.path()), [](const auto& one) { return one.path().extension() == ".sent"; }));
  }
  void pass(int hours) { clock.wall_now += hours * 3'600'000LL; }
  using Values = std::vector<std::string>;
  cay::testing::SteppedClock clock;
  std::unique_ptr<SentSecrets> sent = std::make_unique<SentSecrets>(directory.get(), *keys, clock);
};

TEST_F(SentSecretsTest, WhatWasSentIsKnownWhateverBecameOfIt) {
  sent->note(secret(1, "old-0123456789"));
  sent->note(secret(2, "new-0123456789"));
  sent->note(secret(1, "wild-0123456789", "wild", "*.wild.test:8443"));
  reopen();
  EXPECT_EQ(at("api.test"), (Values{"new-0123456789", "old-0123456789"}));
  EXPECT_EQ(at("a.wild.test"), Values{"wild-0123456789"});
  EXPECT_EQ(at("else.test"), Values{});
  EXPECT_EQ(at("api.test", "u"), Values{}) << "another tenant's";
}

TEST_F(SentSecretsTest, NothingOfItLiesOnTheDiskInClear) {
  sent->note(secret(1, testing::kSecret));
  ASSERT_EQ(files(), 1U);
  for (const auto& one : std::filesystem::directory_iterator(temp.path())) {
    std::ifstream in(one.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(bytes.find(testing::kSecret), std::string::npos);
    if (one.path().extension() == ".sent") EXPECT_NE(bytes.find("api.test"), std::string::npos) << "the control";
  }
}

TEST_F(SentSecretsTest, OfEachSecretTheLatestAreKeptAndForAWhile) {
  for (std::uint64_t version = 1; version <= 6; ++version) {
    sent->note(secret(version, "value-of-" + std::to_string(version)));
    pass(24);
  }
  EXPECT_EQ(at("api.test"), (Values{"value-of-3", "value-of-4", "value-of-5", "value-of-6"}));
  EXPECT_EQ(files(), kMostSentVersions);
  pass(24 * 27);
  EXPECT_EQ(at("api.test"), (Values{"value-of-4", "value-of-5", "value-of-6"}));
  sent->note(secret(6, "value-of-6"));  // used again
  pass(24 * 29);
  EXPECT_EQ(at("api.test"), Values{"value-of-6"});
  reopen();
  EXPECT_EQ(at("api.test"), Values{"value-of-6"});
  sent->note(secret(1, "other-value", "other"));
  EXPECT_EQ(files(), 2U) << "what is too old goes";
}

TEST_F(SentSecretsTest, AHostHasABound) {
  for (std::size_t i = 0; i < kMostSentOfHost + 6; ++i) {
    sent->note(secret(1, "value-of-" + std::to_string(1000 + i), "s" + std::to_string(i)));
    clock.wall_now += 1000;
  }
  const auto known = at("api.test");
  ASSERT_EQ(known.size(), kMostSentOfHost);
  EXPECT_EQ(known.front(), "value-of-1006") << "the latest";
}

TEST_F(SentSecretsTest, ARotationOfTheKeyTakesItAlong) {
  sent->note(secret(1, "old-0123456789"));
  ASSERT_TRUE(keys->begin_rotation());
  ASSERT_TRUE(sent->reseal());
  ASSERT_TRUE(keys->end_rotation());
  EXPECT_EQ(at("api.test"), Values{"old-0123456789"});
  reopen();
  EXPECT_EQ(at("api.test"), Values{"old-0123456789"});
}

TEST_F(SentSecretsTest, AFileThatIsTornOrAnothersIsLeftOut) {
  sent->note(secret(1, "old-0123456789"));
  std::filesystem::path file;
  for (const auto& one : std::filesystem::directory_iterator(temp.path())) {
    if (one.path().extension() == ".sent") file = one.path();
  }
  std::filesystem::copy(file, file.parent_path() / (std::string(64, 'a') + ".sent"));
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  reopen();
  EXPECT_EQ(at("api.test"), Values{});
}

}  // namespace
}  // namespace cay::vault
