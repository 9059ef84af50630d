#include "gate/decisions.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/testing/temp_dir.h"
#include "base/unique_fd.h"
#include "gate/names.h"
#include "os/file.h"

namespace cay::gate {
namespace {

class DecisionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    EXPECT_TRUE(os::replace_file(dir_.get(), "id.sock", "", 0600));  // its keeper is there
  }
  wire::DecisionsMsg written() {
    return *wire::decode<wire::DecisionsMsg>(*os::read_file(dir_.get(), "id.net", 1 << 20));
  }

  const cay::testing::TempDir temp_;
  const UniqueFd dir_ = temp_.open();
};

TEST_F(DecisionsTest, CountsByKindTheLatestLast) {
  Decisions decisions(dir_.get(), "id", "packages");
  const auto line = decisions.note(
      {.host = "a.test", .address = "1.1.1.1", .port = 443, .allowed = true, .reason = {}}, 10);
  decisions.note(
      {.host = "b.test", .address = {}, .port = 0, .allowed = false, .reason = "not_in_policy"},
      20);
  decisions.note(
      {.host = "a.test", .address = "1.1.1.2", .port = 443, .allowed = true, .reason = {}}, 30);
  decisions.moved(line, 5, 7);
  ASSERT_TRUE(decisions.write());
  EXPECT_FALSE(decisions.dirty());
  const auto got = written();
  ASSERT_EQ(got.items.size(), 2U);
  EXPECT_EQ(got.policy, "packages");
  EXPECT_EQ(got.items[1].host, "a.test");
  EXPECT_EQ(got.items[1].address, "1.1.1.2");
  EXPECT_EQ(got.items[1].count, 2U);
  EXPECT_EQ(got.items[1].first_at, 10);
  EXPECT_EQ(got.items[1].last_at, 30);
  EXPECT_EQ(got.items[1].received_bytes, 7U);
}

TEST_F(DecisionsTest, OfASandboxThatIsGoneNothingIsMadeAgain) {
  Decisions decisions(dir_.get(), "id", "packages");
  EXPECT_TRUE(decisions.dirty()) << "its policy is told from the beginning";
  const auto decide = [&] {
    decisions.note({.host = "a.test", .address = {}, .port = 0, .allowed = true, .reason = {}}, 1);
  };
  decide();
  ASSERT_TRUE(decisions.write());
  ASSERT_TRUE(os::remove_tree(dir_.get(), "id.sock"));  // a stop: the rest is written first
  decide();
  ASSERT_TRUE(decisions.write());
  EXPECT_EQ(written().items[0].count, 2U);
  ASSERT_TRUE(os::remove_tree(dir_.get(), "id.net"));
  ASSERT_TRUE(os::remove_tree(dir_.get(), "id.log"));
  decide();
  ASSERT_TRUE(decisions.write());
  Decisions late(dir_.get(), "id", "packages");
  late.note({.host = "a.test", .address = {}, .port = 0, .allowed = true, .reason = {}}, 1);
  ASSERT_TRUE(late.write());
  EXPECT_TRUE(os::list_dir(dir_.get())->empty());
}

TEST_F(DecisionsTest, TheOldestMakesRoom) {
  Decisions decisions(dir_.get(), "id", "open");
  for (std::size_t i = 0; i < Decisions::kMost + 10; ++i) {
    decisions.note({.host = "h" + std::to_string(i),
                    .address = {},
                    .port = 0,
                    .allowed = false,
                    .reason = "x"},
                   1);
  }
  ASSERT_TRUE(decisions.write());
  const auto got = written();
  EXPECT_EQ(got.items.size(), Decisions::kMost);
  EXPECT_EQ(got.forgotten, 10U);
  EXPECT_EQ(got.items.front().host, "h10");
}

TEST_F(DecisionsTest, WhatMovedBytesDoesNotGoUnderInWhatDidNot) {
  Decisions decisions(dir_.get(), "id", "packages");
  const auto out = decisions.note(
      {.host = "out.test", .address = "1.1.1.1", .port = 443, .allowed = true, .reason = {}}, 1);
  decisions.moved(out, 1'000'000, 1);
  for (std::size_t i = 0; i < 10 * Decisions::kMost; ++i) {
    decisions.note({.host = "h" + std::to_string(i),
                    .address = {},
                    .port = 0,
                    .allowed = false,
                    .reason = "not_in_policy"},
                   2);
  }
  decisions.moved(out, 1, 0);
  ASSERT_TRUE(decisions.write());
  auto got = written();
  EXPECT_EQ(got.items.front().host, "out.test");
  EXPECT_EQ(got.items.front().sent_bytes, 1'000'001U);
  // They are no more than half, or nothing new would be seen.
  for (std::size_t i = 0; i < Decisions::kMost; ++i) {
    const auto line = decisions.note({.host = "m" + std::to_string(i),
                                      .address = {},
                                      .port = 443,
                                      .allowed = true,
                                      .reason = {}},
                                     3);
    decisions.moved(line, 1, 1);
  }
  ASSERT_TRUE(decisions.write());
  got = written();
  EXPECT_NE(got.items.front().host, "out.test");
  EXPECT_EQ(got.items.size(), Decisions::kMost);
  EXPECT_GE(std::ranges::count_if(got.items, [](const auto& item) { return !item.allowed; }),
            static_cast<std::ptrdiff_t>(Decisions::kMost / 2 - 1));
}

TEST_F(DecisionsTest, AnotherGateGoesOnWithThem) {
  Decisions first(dir_.get(), "id", "open");
  first.note({.host = "a.test", .address = {}, .port = 1, .allowed = true, .reason = {}}, 1);
  ASSERT_TRUE(first.write());
  Decisions second(dir_.get(), "id", "open");
  second.note({.host = "a.test", .address = {}, .port = 1, .allowed = true, .reason = {}}, 2);
  ASSERT_TRUE(second.write());
  EXPECT_EQ(written().items.at(0).count, 2U);
}

TEST_F(DecisionsTest, WhatMovedInAllIsKnownWhateverLineMadeRoom) {
  {
    Decisions decisions(dir_.get(), "id", "open");
    for (int i = 0; i < 300; ++i) {
      const auto line = decisions.note({.host = "h" + std::to_string(i) + ".test",
                                        .address = {},
                                        .port = 443,
                                        .allowed = true,
                                        .reason = {}},
                                       i);
      decisions.moved(line, 2, 3);
    }
    const auto gone = decisions.note(
        {.host = "h0.test", .address = {}, .port = 1, .allowed = true, .reason = {}}, 1);
    decisions.moved(gone + "?", 10, 0);
    EXPECT_EQ(decisions.sent(), 610U);
    EXPECT_EQ(decisions.received(), 900U);
    ASSERT_TRUE(decisions.write());
  }
  EXPECT_GT(written().forgotten, 0U);
  EXPECT_EQ(written().sent_bytes, 610U);
  EXPECT_EQ(Decisions(dir_.get(), "id", "open").received(), 900U)
      << "another gate goes on from there";
  auto older = written();  // of a release that did not know
  older.sent_bytes = older.received_bytes = older.sent_up_to = older.received_up_to = 0;
  ASSERT_TRUE(os::replace_file(dir_.get(), "id.net", wire::encode(older), 0600));
  EXPECT_EQ(Decisions(dir_.get(), "id", "open").sent(), 2U * (Decisions::kMost - 1))
      << "what its lines tell";
}

TEST_F(DecisionsTest, WhatAKilledGateMayHaveMovedCountsAsMoved) {
  {
    Decisions killed(dir_.get(), "id", "open");
    const auto line = killed.note(
        {.host = "a.test", .address = {}, .port = 443, .allowed = true, .reason = {}}, 1);
    killed.moved(line, 5, 7);
    killed.set_aside_sent(100);
    EXPECT_EQ(written().sent_up_to, 100U) << "at once";
  }
  {
    Decisions ended(dir_.get(), "id", "open");
    EXPECT_EQ(ended.sent(), 100U);
    EXPECT_EQ(ended.received(), 7U);
    const auto line = ended.note(
        {.host = "a.test", .address = {}, .port = 443, .allowed = true, .reason = {}}, 2);
    ended.set_aside_sent(200);
    ended.moved(line, 10, 0);
    ended.close();
    EXPECT_EQ(written().sent_bytes, 15U) << "what is known of";
  }
  EXPECT_EQ(Decisions(dir_.get(), "id", "open").sent(), 110U)
      << "of one that came to its end what it moved alone";
}

TEST_F(DecisionsTest, EachIsInTheLogToo) {
  Decisions decisions(dir_.get(), "id", "packages");
  ASSERT_TRUE(decisions.write());
  decisions.note_found(
      {.host = "a.test", .address = "1.1.1.1", .port = 0, .allowed = true, .reason = {}}, 9);
  EXPECT_TRUE(decisions.dirty());
  decisions.note({.host = "a.test",
                  .address = "1.1.1.1",
                  .port = 443,
                  .allowed = true,
                  .reason = {},
                  .rule = "a.test"},
                 10);
  decisions.note(
      {.host = "a.test", .address = "1.1.1.1", .port = 443, .allowed = true, .reason = "no_answer"},
      11);
  decisions.note(
      {.host = "b.test", .address = {}, .port = 0, .allowed = false, .reason = "not_in_policy"},
      12);
  decisions.note({.host = "c.test",
                  .address = {},
                  .port = 443,
                  .allowed = false,
                  .reason = "path_not_in_rule",
                  .kind = wire::DecidedKind::kRequest},
                 13);
  decisions.note(
      {.host = "*", .address = {}, .port = 0, .allowed = false, .reason = "too_many_connections"},
      14);
  decisions.close();
  const auto got = wire::read_decided(*os::read_file(dir_.get(), "id.log", 1 << 20), 0, 100);
  ASSERT_EQ(got.items.size(), 6U);
  EXPECT_TRUE(got.closed);
  using Kind = wire::DecidedKind;
  using Result = wire::DecidedResult;
  const std::pair<Kind, Result> expected[] = {
      {Kind::kLookup, Result::kAllowed},    {Kind::kConnection, Result::kAllowed},
      {Kind::kConnection, Result::kFailed}, {Kind::kLookup, Result::kRefused},
      {Kind::kRequest, Result::kRefused},   {Kind::kConnection, Result::kRefused}};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(got.items[i].kind, static_cast<std::uint8_t>(expected[i].first)) << i;
    EXPECT_EQ(got.items[i].result, static_cast<std::uint8_t>(expected[i].second)) << i;
    EXPECT_EQ(got.items[i].number, i + 1);
  }
  EXPECT_EQ(got.items[1].rule, "a.test");
  EXPECT_EQ(written().items.size(), 5U) << "a name that was found has no line";
}

TEST(NamesTest, AddressesHaveTheirNamesTheLatestFirstAndBounded) {
  Names names;
  const IpAddress one = *IpAddress::parse("1.1.1.1");
  names.note("a.test", {one});
  names.note("b.test", {one, *IpAddress::parse("1.1.1.2")});
  EXPECT_EQ(names.of(one), (std::vector<std::string>{"b.test", "a.test"}));
  names.note("a.test", {*IpAddress::parse("1.1.1.3")});
  EXPECT_EQ(names.of(one), std::vector<std::string>{"b.test"});
  for (std::size_t i = 0; i < Names::kMost; ++i) names.note("n" + std::to_string(i), {});
  EXPECT_TRUE(names.of(one).empty());
}

}  // namespace
}  // namespace cay::gate
