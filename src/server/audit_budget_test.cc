// The number of lines that each caller gets. A change always gets its line.
#include "server/audit_budget.h"

#include <gtest/gtest.h>

#include <string>

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

struct AuditBudgetTest : ::testing::Test {
  SteppedClock clock;
  AuditBudget budget{clock};
  int written(const AccessRecord& record, int asked = 5000) {
    int out = 0;
    for (int i = 0; i < asked; ++i) out += budget.take(record) ? 1 : 0;
    return out;
  }
};

TEST_F(AuditBudgetTest, EachKeyAndEachLinkHasABucketOfItsOwn) {
  EXPECT_EQ(written(by_key("monitor", "GET", 200)), 400) << "two seconds' worth at once";
  EXPECT_EQ(written(by_key("monitor", "POST", 403)), 0) << "whatever it requests";
  EXPECT_EQ(written(by_key("other", "GET", 403)), 400);
  EXPECT_EQ(written(by_link("l1", 404)), 400);
  EXPECT_EQ(written(by_link("l2", 200)), 400);
  clock.now += std::chrono::seconds(1);
  EXPECT_EQ(written(by_key("monitor", "GET", 200)), 200);
}

TEST_F(AuditBudgetTest, EachNetworkOfStrangersHasItsOwnAndAllTogetherABound) {
  EXPECT_EQ(written(by_stranger("192.0.2.1:1000")), 20);
  EXPECT_EQ(written(by_stranger("192.0.2.1:2000")), 0) << "whatever its port";
  EXPECT_EQ(written(by_stranger("192.0.2.2:1000")), 20) << "nobody hides what another one tried";
  EXPECT_EQ(written(by_stranger("[2001:db8::1]:1000")), 20);
  EXPECT_EQ(written(by_stranger("[2001:db8::2]:1000")), 0) << "one of the same /64";
  int all = 60;
  for (int i = 0; i < 100; ++i)
    all += written(by_stranger("198.51.100." + std::to_string(i) + ":1000"), 30);
  EXPECT_EQ(all, 200);
  EXPECT_EQ(written(by_key("monitor", "GET", 403)), 400) << "the bound is for strangers alone";
  clock.now += std::chrono::seconds(1);
  EXPECT_EQ(written(by_stranger("192.0.2.1:1000")), 20);
}

// The holder of somebody else's link hides no change in the service behind other requests.
TEST_F(AuditBudgetTest, LooksByALinkHideNothingThatItMayHaveChanged) {
  AccessRecord look = by_link("l1", 200), write = by_link("l1", 0), opened = by_link("l1", 101);
  write.method = "POST";
  write.part = opened.part = Part::kBegin;
  EXPECT_EQ(written(look), 400);
  EXPECT_TRUE(budget.take(write));
  EXPECT_TRUE(budget.take(opened)) << "a WebSocket may carry anything";
  EXPECT_EQ(written(write), 398) << "bounded all the same";
  EXPECT_TRUE(budget.take(by_key("reader", "GET", 200)));
  write.part = Part::kEnd;
  EXPECT_FALSE(budget.take(write));
  write.begin_is_written = true;
  EXPECT_TRUE(budget.take(write));
}

TEST_F(AuditBudgetTest, OmittedRequestsAreCountedOnceAndReportedOnceASecond) {
  EXPECT_EQ(budget.take_omitted(), 0U);
  written(by_stranger("192.0.2.1:1000"), 23);
  written(by_key("reader", "GET", 200), 404);
  EXPECT_EQ(budget.take_omitted(), 7U);
  written(by_key("reader", "GET", 200), 5);
  EXPECT_EQ(budget.take_omitted(), 0U) << "within the second";
  clock.now += std::chrono::seconds(1);
  EXPECT_EQ(budget.take_omitted(), 5U);
  EXPECT_EQ(budget.take_omitted(), 0U);
}

TEST_F(AuditBudgetTest, WhatChangesSomethingAlwaysHasItsLine) {
  written(by_key("maker", "GET", 200));
  written(by_key("maker", "GET", 403));
  EXPECT_EQ(written(change(0, Part::kBegin)), 5000);
  EXPECT_EQ(written(change(204)), 5000);
  EXPECT_EQ(written(change(404)), 5000) << "it has begun";
  // A WebSocket that was refused before the upgrade has not begun.
  EXPECT_EQ(written(change(400, Part::kWhole)), 0);
}

TEST_F(AuditBudgetTest, AnEndIsWrittenWhereItsBeginningWas) {
  AccessRecord begin = by_key("reader", "GET", 200);
  begin.part = Part::kBegin;
  EXPECT_EQ(written(begin, 500), 400);
  AccessRecord end = begin;
  end.part = Part::kEnd;
  EXPECT_FALSE(budget.take(end));
  end.begin_is_written = true;
  EXPECT_TRUE(budget.take(end));
  end.status = 499;
  EXPECT_TRUE(budget.take(end));
}

TEST_F(AuditBudgetTest, WhatWasLetInToActMayHaveChangedSomethingWhateverItsAnswer) {
  EXPECT_TRUE(has_changed(change(204)));
  EXPECT_TRUE(has_changed(change(500)));
  EXPECT_TRUE(has_changed(change(0))) << "its client left";
  EXPECT_TRUE(has_changed(change(101, Part::kBegin)));
  EXPECT_FALSE(has_changed(change(0, Part::kBegin))) << "its end counts";
  EXPECT_TRUE(has_changed(change(408))) << "a command whose time is over was run";
  EXPECT_FALSE(has_changed(change(400, Part::kWhole))) << "it never began";
  EXPECT_FALSE(has_changed(by_key("reader", "GET", 200)));
  EXPECT_FALSE(has_changed(by_link("l1", 200)));
}

TEST_F(AuditBudgetTest, WhatKeysOfATenantChangedIsApartFromOthersAndTheHosts) {
  AccessRecord record = change(204);
  EXPECT_EQ(changes_file(record), "audit-changes/t/create.log");
  record.scope = KeyScope::kUse;
  EXPECT_EQ(changes_file(record), "audit-changes/t/use.log")
      << "whoever has this key is not to push out what made it";
  record.tenant = "u";
  EXPECT_EQ(changes_file(record), "audit-changes/u/use.log");
  record.scope = KeyScope::kAdmin;
  EXPECT_EQ(changes_file(record), "audit-changes.log") << "of whatever tenant";
}

TEST_F(AuditBudgetTest, WhatACallerMakesLongIsCut) {
  const auto cut = [](AccessRecord record) {
    record.method = std::string(8000, 'M');
    record.target = std::string(8000, '"');
    record.subject = std::string(8000, 's');
    record.ended = std::string(8000, 'e');
    shorten(record);
    return record;
  };
  for (const AccessRecord& refused :
       {by_key("monitor", "GET", 403), by_link("l1", 404), by_key("", "GET", 200)}) {
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
