// Who gets how many lines of the record of requests, and that what changes something gets its own whatever else is asked.
#include "server/line_shares.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/testing/stepped_clock.h"

namespace cay::server {
namespace {

using Part = AccessRecord::Part;

using cay::testing::SteppedClock;

AccessRecord by_key(std::string name, std::string method, int status) {
  AccessRecord out;
  out.method = std::move(method);
  out.target = "/api/v1/sandboxes";
  out.principal = std::move(name);
  out.tenant = "t";
  out.status = status;
  return out;
}
AccessRecord by_stranger(std::string peer) {
  AccessRecord out = by_key("", "GET", 401);
  out.tenant.clear();
  out.peer = std::move(peer);
  return out;
}
AccessRecord look_at(std::string route) {
  AccessRecord out = by_key("reader", "GET", 200);
  out.route = std::move(route);
  return out;
}
AccessRecord by_link(std::string id, int status) {
  AccessRecord out = by_key("", "GET", status);
  out.tenant.clear();
  out.link = std::move(id);
  return out;
}
AccessRecord change(int status, Part part = Part::kEnd) {
  AccessRecord out = by_key("maker", "DELETE", status);
  out.acts = true;
  out.part = part;
  return out;
}

struct LineSharesTest : ::testing::Test {
  SteppedClock clock;
  LineShares shares{clock};
  int written(const AccessRecord& record, int asked = 5000) {
    int out = 0;
    for (int i = 0; i < asked; ++i) out += shares.take(record) ? 1 : 0;
    return out;
  }
  LineShares::LeftOut left_out() { return shares.left_out(by_key("next", "GET", 200)); }
};

TEST_F(LineSharesTest, WhatIsRefusedOfOneKeyOrLinkIsBounded) {
  EXPECT_EQ(written(by_key("monitor", "GET", 403)), 20);
  EXPECT_EQ(written(by_key("monitor", "POST", 429)), 0) << "whatever it is refused for";
  EXPECT_EQ(written(by_key("other", "GET", 403)), 20) << "each has its own";
  EXPECT_EQ(written(by_link("l1", 404)), 20);
  EXPECT_EQ(left_out().all.refused, 3u * 4980 + 5000);
  EXPECT_EQ(left_out().all.refused, 0u) << "told once";
  clock.now += std::chrono::seconds(1);
  EXPECT_EQ(written(by_key("monitor", "GET", 403)), 20);
}

TEST_F(LineSharesTest, EachNetworkOfStrangersHasItsOwnAndAllTogetherABound) {
  EXPECT_EQ(written(by_stranger("192.0.2.1:1000")), 20);
  EXPECT_EQ(written(by_stranger("192.0.2.1:2000")), 0) << "whatever its port";
  EXPECT_EQ(written(by_stranger("192.0.2.2:1000")), 20) << "nobody hides what another one tried";
  EXPECT_EQ(written(by_stranger("[2001:db8::1]:1000")), 20);
  EXPECT_EQ(written(by_stranger("[2001:db8::2]:1000")), 0) << "one of the same /64";
  int all = 60;
  for (int i = 0; i < 100; ++i) all += written(by_stranger("198.51.100." + std::to_string(i) + ":1000"), 30);
  EXPECT_EQ(all, 200);
  EXPECT_EQ(written(by_key("monitor", "GET", 403)), 20) << "that is strangers' alone";
  clock.now += std::chrono::seconds(1);
  EXPECT_EQ(written(by_stranger("192.0.2.1:1000")), 20);
}

TEST_F(LineSharesTest, LooksAtOneClassOfRoutesHideNoneAtAnother) {
  EXPECT_EQ(written(look_at("/api/v1/version")), 400);
  EXPECT_EQ(written(look_at("/readyz")), 0) << "the same class";
  EXPECT_EQ(written(look_at("/api/v1/sandboxes/{ref}/files")), 400);
  EXPECT_EQ(written(look_at("/api/v1/sandboxes/{ref}/files/list")), 0);
}

// Whoever has somebody's link hides nothing that he writes there behind his own looks.
TEST_F(LineSharesTest, LooksByALinkHideNothingThatItMayHaveChanged) {
  AccessRecord look = by_link("l1", 200), write = by_link("l1", 0), opened = by_link("l1", 101);
  write.method = "POST";
  write.part = opened.part = Part::kBegin;
  EXPECT_EQ(written(look), 400);
  EXPECT_TRUE(shares.take(write));
  EXPECT_TRUE(shares.take(opened)) << "by a WebSocket whatever comes is said";
  EXPECT_EQ(written(write), 398) << "bounded all the same";
  EXPECT_TRUE(shares.take(by_key("reader", "GET", 200)));
  const auto told = left_out();
  EXPECT_EQ(told.all.acts, 5000u - 398);
  EXPECT_EQ(told.all.looks, 4600u);
  ASSERT_EQ(told.parts.size(), 1u);
  EXPECT_EQ(told.parts[0].count.acts, told.all.acts);
  write.part = Part::kEnd;
  EXPECT_FALSE(shares.take(write));
  write.begin_is_written = true;
  EXPECT_TRUE(shares.take(write));
}

TEST_F(LineSharesTest, WhatIsLeftOutIsToldByWhoAskedForWhat) {
  using Kind = LineShares::Caller::Kind;
  written(look_at("/api/v1/sandboxes/{ref}/files"), 407);
  written(look_at("/api/v1/version"), 401);
  written(by_key("reader", "GET", 404), 22);
  written(by_link("l1", 404), 23);
  for (int i = 0; i < 9; ++i) written(by_stranger("192.0.2." + std::to_string(i) + ":1000"), 21);
  const auto told = left_out();
  const auto of = [&](Kind kind, const std::string& name, std::string_view routes) {
    for (const auto& part : told.parts) {
      if (part.caller.kind == kind && part.caller.name == name && part.routes == routes) return std::pair{part.count.refused, part.count.looks};
    }
    return std::pair<std::uint64_t, std::uint64_t>{};
  };
  using Counts = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(of(Kind::kKey, "reader", "files"), Counts(0, 7));
  EXPECT_EQ(of(Kind::kKey, "reader", "daemon"), Counts(0, 1));
  EXPECT_EQ(of(Kind::kKey, "reader", "none"), Counts(2, 0));
  EXPECT_EQ(of(Kind::kLink, "l1", "none"), Counts(3, 0));
  EXPECT_EQ(of(Kind::kNetwork, "192.0.2.4", "none"), Counts(1, 0));
  EXPECT_EQ(told.parts.size(), 3u + 1 + 5);
  EXPECT_EQ(told.parts.front().caller.tenant, "t");
  EXPECT_EQ(told.others.refused, 4u) << "of networks beyond five";
  EXPECT_EQ(told.all.refused, 2u + 3 + 9);
  EXPECT_EQ(told.all.looks, 8u);
  EXPECT_FALSE(left_out().all.any());
}

TEST_F(LineSharesTest, NoNumberOfCallersMakesWhatIsToldLong) {
  for (int i = 0; i < 300; ++i) {
    written(by_stranger("192.0.2." + std::to_string(i % 200) + ":1"), 30);
    written(by_link("l" + std::to_string(i), 404), 30);
    written(by_key("k" + std::to_string(i), "GET", 404), 30);
  }
  const auto told = left_out();
  EXPECT_EQ(told.parts.size(), LineShares::kMostTold);
  std::uint64_t sum = told.others.refused;
  for (const auto& part : told.parts) sum += part.count.refused;
  EXPECT_EQ(sum, told.all.refused);
}

TEST_F(LineSharesTest, BeforeStrangersItIsToldOnceASecond) {
  const auto stranger = by_stranger("192.0.2.1:1000");
  written(stranger, 21);
  EXPECT_TRUE(shares.left_out(stranger).all.any());
  written(stranger, 1);
  EXPECT_FALSE(shares.left_out(stranger).all.any());
  clock.now += std::chrono::seconds(1);
  EXPECT_EQ(shares.left_out(stranger).all.refused, 1u);
  written(stranger, 21);
  EXPECT_EQ(left_out().all.refused, 1u) << "before all others at once";
}

TEST_F(LineSharesTest, LooksAreBoundedApartFromRefusals) {
  EXPECT_EQ(written(by_key("reader", "GET", 200)), 400) << "of two seconds";
  EXPECT_EQ(written(by_key("reader", "GET", 404)), 20);
  EXPECT_EQ(written(by_link("l1", 200)), 400);
  EXPECT_EQ(left_out().all.looks, 2u * 4600);
  clock.now += std::chrono::seconds(1);
  EXPECT_EQ(written(by_key("reader", "GET", 200)), 200);
}

TEST_F(LineSharesTest, WhatChangesSomethingAlwaysHasItsLine) {
  written(by_key("maker", "GET", 200));
  written(by_key("maker", "GET", 403));
  EXPECT_EQ(written(change(0, Part::kBegin)), 5000);
  EXPECT_EQ(written(change(204)), 5000);
  EXPECT_EQ(written(change(404)), 5000) << "it has begun";
  // Of a WebSocket that was refused before it was one nothing has begun.
  EXPECT_EQ(written(change(400, Part::kWhole)), 0);
}

TEST_F(LineSharesTest, AnEndIsWrittenWhereItsBeginningWas) {
  AccessRecord begin = by_key("reader", "GET", 200);
  begin.part = Part::kBegin;
  EXPECT_EQ(written(begin, 500), 400);
  AccessRecord end = begin;
  end.part = Part::kEnd;
  EXPECT_FALSE(shares.take(end));
  end.begin_is_written = true;
  EXPECT_TRUE(shares.take(end));
  end.status = 499;
  EXPECT_TRUE(shares.take(end));
}

TEST_F(LineSharesTest, WhatWasLetInToActMayHaveChangedSomethingWhateverItsAnswer) {
  EXPECT_TRUE(has_changed(change(204)));
  EXPECT_TRUE(has_changed(change(500)));
  EXPECT_TRUE(has_changed(change(0))) << "its client left";
  EXPECT_TRUE(has_changed(change(101, Part::kBegin)));
  EXPECT_FALSE(has_changed(change(0, Part::kBegin))) << "its end will tell";
  EXPECT_TRUE(has_changed(change(408))) << "a command whose time is over was run";
  EXPECT_FALSE(has_changed(change(400, Part::kWhole))) << "it never began";
  EXPECT_FALSE(has_changed(by_key("reader", "GET", 200)));
  EXPECT_FALSE(has_changed(by_link("l1", 200)));
}

TEST_F(LineSharesTest, WhatKeysOfATenantChangedIsApartFromOthersAndTheHosts) {
  AccessRecord record = change(204);
  EXPECT_EQ(changes_file(record), "audit-changes/t/create.log");
  record.scope = KeyScope::kUse;
  EXPECT_EQ(changes_file(record), "audit-changes/t/use.log") << "whoever has this key is not to push out what made it";
  record.tenant = "u";
  EXPECT_EQ(changes_file(record), "audit-changes/u/use.log");
  record.scope = KeyScope::kAdmin;
  EXPECT_EQ(changes_file(record), "audit-changes.log") << "of whatever tenant";
}

TEST_F(LineSharesTest, WhatACallerMakesLongIsCut) {
  const auto cut = [](AccessRecord record) {
    record.method = std::string(8000, 'M');
    record.target = std::string(8000, '"');
    record.subject = std::string(8000, 's');
    record.ended = std::string(8000, 'e');
    shorten(record);
    return record;
  };
  for (const AccessRecord& refused : {by_key("monitor", "GET", 403), by_link("l1", 404), by_key("", "GET", 200)}) {
    EXPECT_EQ(cut(refused).target.size(), 200u);
    EXPECT_EQ(cut(refused).subject.size(), 200u);
  }
  const AccessRecord done = cut(change(200));
  EXPECT_EQ(done.method.size(), 32u);
  EXPECT_EQ(done.target.size(), 512u);
  EXPECT_EQ(done.subject.size(), 2048u);
  EXPECT_EQ(done.ended.size(), 200u);
}

}  // namespace
}  // namespace cay::server
