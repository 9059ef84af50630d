#include "vault/sent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/testing/stepped_clock.h"
#include "model/secret.h"
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
  bool knows(const std::string& value, const std::string& host = "api.test", const std::string& tenant = "t") {
    return sent->watch_of(tenant, host, 0).holds("before " + value + " behind");
  }
  void reopen() {
    sent = std::make_unique<SentSecrets>(directory.get(), *keys, watches, clock);
    sent->open();
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::ranges::count_if(std::filesystem::directory_iterator(temp.path()), [](const auto& one) { return one.path().extension() == ".sent"; }));
  }
  void pass(int hours) { clock.wall_now += hours * 3'600'000LL; }
  cay::testing::SteppedClock clock;
  SharedWatches watches;
  std::unique_ptr<SentSecrets> sent = std::make_unique<SentSecrets>(directory.get(), *keys, watches, clock);
};

TEST_F(SentSecretsTest, WhatWasSentIsKnownWhateverBecameOfIt) {
  sent->note(secret(1, "old-0123456789"));
  sent->note(secret(2, "new-0123456789"));
  sent->note(secret(1, "wild-0123456789", "wild", "*.wild.test:8443"));
  reopen();
  EXPECT_TRUE(knows("new-0123456789") && knows("old-0123456789") && knows("wild-0123456789", "a.wild.test"));
  EXPECT_FALSE(knows("wild-0123456789") || knows("old-0123456789", "else.test"));
  EXPECT_FALSE(knows("old-0123456789", "api.test", "u")) << "another tenant's";
}

// A secret that is removed and set again begins at its first version.
TEST_F(SentSecretsTest, WhatIsSetAgainForgetsNothing) {
  sent->note(secret(1, "leaked-0123456789"));
  pass(1);
  sent->note(secret(1, "another-0123456789"));
  EXPECT_TRUE(knows("leaked-0123456789") && knows("another-0123456789"));
  for (std::uint64_t version = 7; version <= 10; ++version) {
    pass(1);
    sent->note(secret(version, "value-of-" + std::to_string(version)));
  }
  pass(1);
  sent->note(secret(1, "latest-0123456789"));
  EXPECT_TRUE(knows("latest-0123456789") && knows("value-of-10") && knows("value-of-8"));
  EXPECT_FALSE(knows("value-of-7"));
}

TEST_F(SentSecretsTest, WhatIsSentTimeAndAgainIsWrittenOnceAnHour) {
  const auto one = secret(1, "value-0123456789");
  const auto written = [this] {
    for (const auto& file : std::filesystem::directory_iterator(temp.path())) {
      if (file.path().extension() == ".sent") return std::filesystem::last_write_time(file);
    }
    return std::filesystem::file_time_type();
  };
  sent->note(one);
  const auto first = written();
  sent->note(one);
  auto again = one;  // the daemon's row, sealed anew
  again.sealed = *keys->seal(about_secret(again), "value-0123456789");
  sent->note(again);
  sent->note(again);
  EXPECT_EQ(files(), 1U);
  const auto second = written();
  sent->note(again);
  EXPECT_EQ(written(), second);
  pass(1);
  sent->note(again);
  EXPECT_GT(written(), first);
  EXPECT_EQ(files(), 1U);
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
  EXPECT_TRUE(!knows("value-of-2") && knows("value-of-3") && knows("value-of-6"));
  EXPECT_EQ(files(), kMostSentValues);
  pass(24 * 28);
  sent->note(secret(6, "value-of-6"));  // used again
  EXPECT_TRUE(!knows("value-of-4") && knows("value-of-6"));
  pass(24 * 29);
  reopen();
  EXPECT_TRUE(knows("value-of-6"));
  EXPECT_EQ(files(), 1U);
  pass(24 * 2);
  reopen();
  EXPECT_FALSE(knows("value-of-6"));
  EXPECT_EQ(files(), 0U) << "what is too old goes";
}

TEST_F(SentSecretsTest, AHostHasABound) {
  for (std::size_t i = 0; i < kMostSentOfHost + 6; ++i) {
    sent->note(secret(1, "value-of-" + std::to_string(1000 + i), "s" + std::to_string(i)));
    clock.wall_now += 1000;
  }
  EXPECT_TRUE(!knows("value-of-1005") && knows("value-of-1006") && knows("value-of-1037")) << "the latest";
}

TEST_F(SentSecretsTest, WhatWhoAsksMaySendTakesNoOthersPlace) {
  for (std::size_t i = 0; i < kMostSentOfHost + 6; ++i) {
    sent->note(secret(1, "value-of-" + std::to_string(1000 + i), "s" + std::to_string(i)));
    clock.wall_now += 1000;
  }
  EXPECT_TRUE(sent->watch_of("t", "api.test", 6).holds("value-of-1000"));
  EXPECT_FALSE(sent->watch_of("t", "api.test", 0).holds("value-of-1000")) << "the control";
}

// What is used all the while keeps its place, though its file's time is an hour's.
TEST_F(SentSecretsTest, TheLatestAreByWhenTheyWereSent) {
  const auto used = secret(1, "in-use-0123456789", "used");
  sent->note(used);
  for (std::size_t i = 0; i < kMostSentOfHost; ++i) {
    clock.wall_now += 60'000;
    sent->note(secret(1, "value-of-" + std::to_string(1000 + i), "s" + std::to_string(i)));
    sent->note(used);
  }
  EXPECT_TRUE(knows("in-use-0123456789") && !knows("value-of-1000") && knows("value-of-1001"));
  // One that was pushed out comes in again, soon.
  clock.wall_now += 60'000;
  sent->note(secret(1, "value-of-1000", "s0"));
  EXPECT_TRUE(knows("value-of-1000") && !knows("value-of-1001"));
  // Soon is within a minute, though it was used no more since.
  clock.wall_now += 1000;
  sent->note(secret(1, "value-of-1001", "s1"));
  EXPECT_FALSE(knows("value-of-1001"));
  clock.wall_now += 60'000;
  EXPECT_TRUE(knows("value-of-1001"));
}

TEST_F(SentSecretsTest, AnotherHostsSecretMakesNothingAnew) {
  sent->note(secret(1, "value-0123456789"));
  const auto made = sent->watch_of("t", "api.test", 1);
  sent->note(secret(1, "other-0123456789", "other", "else.test"));
  wire::VaultSecret theirs{"u", "key", 1, {"api.test"}, ""};
  theirs.sealed = *keys->seal(about_secret(theirs), "theirs-0123456789");
  sent->note(theirs);
  EXPECT_TRUE(sent->watch_of("t", "api.test", 1).has_tables_of(made));
  EXPECT_TRUE(knows("theirs-0123456789", "api.test", "u"));
}

TEST_F(SentSecretsTest, WhatCannotBeWrittenTakesNothingAway) {
  auto one = secret(1, "value-0123456789");
  sent->note(one);
  one.sealed = *keys->seal(about_secret(one), "value-0123456789");
  std::filesystem::create_directory(temp.path() + "/" + to_hex(hash_secret(one.sealed)) + ".sent.new");  // where it would be written
  sent->note(one);
  EXPECT_EQ(files(), 1U);
  reopen();
  EXPECT_TRUE(knows("value-0123456789"));
}

TEST_F(SentSecretsTest, WhatAKillLeftIsJoined) {
  for (int i = 0; i < 6; ++i) {
    auto again = secret(1, "value-0123456789");  // sealed anew, and the one before not removed yet
    sent = std::make_unique<SentSecrets>(directory.get(), *keys, watches, clock);
    sent->note(again);
  }
  std::ofstream(temp.path() + "/" + std::string(64, 'a') + ".sent.new") << "half";
  ASSERT_EQ(files(), 6U);
  reopen();
  EXPECT_EQ(files(), 1U);
  EXPECT_FALSE(std::filesystem::exists(temp.path() + "/" + std::string(64, 'a') + ".sent.new"));
  EXPECT_TRUE(knows("value-0123456789"));
}

TEST_F(SentSecretsTest, WhoAsksAgainHasTheSameTables) {
  sent->note(secret(1, "value-0123456789"));
  const auto made = sent->watch_of("t", "api.test", 1);
  EXPECT_TRUE(sent->watch_of("t", "api.test", 1).has_tables_of(made));
  std::vector<Wiped> granted;
  granted.emplace_back(std::string("value-0123456789"));
  EXPECT_TRUE(watches.of(made, granted).has_tables_of(made)) << "a grant whose secrets are known has nothing made";
  sent->note(secret(2, "other-0123456789"));
  EXPECT_TRUE(knows("other-0123456789"));
}

TEST_F(SentSecretsTest, ARotationOfTheKeyTakesItAlong) {
  sent->note(secret(1, "old-0123456789"));
  ASSERT_TRUE(keys->begin_rotation());
  ASSERT_TRUE(sent->reseal());
  ASSERT_TRUE(keys->end_rotation());
  EXPECT_TRUE(knows("old-0123456789"));
  EXPECT_EQ(files(), 1U);
  reopen();
  EXPECT_TRUE(knows("old-0123456789"));
}

TEST_F(SentSecretsTest, AFileThatIsTornOrAnothersGoes) {
  sent->note(secret(1, "old-0123456789"));
  std::filesystem::path file;
  for (const auto& one : std::filesystem::directory_iterator(temp.path())) {
    if (one.path().extension() == ".sent") file = one.path();
  }
  std::filesystem::copy(file, file.parent_path() / (std::string(64, 'a') + ".sent"));
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  reopen();
  EXPECT_FALSE(knows("old-0123456789"));
  EXPECT_EQ(files(), 0U);
}

}  // namespace
}  // namespace cay::vault
