// Who gets how many lines of the record of requests, and that what changes something gets its own whatever else is asked.
#include "server/line_shares.h"

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
};

TEST_F(LineSharesTest, WhatIsRefusedOfOneKeyOrLinkIsBounded) {
  EXPECT_EQ(written(by_key("monitor", "GET", 403)), 20);
  EXPECT_EQ(written(by_key("monitor", "POST", 429)), 0) << "whatever it is refused for";
  EXPECT_EQ(written(by_key("other", "GET", 403)), 20) << "each has its own";
  EXPECT_EQ(written(by_link("l1", 404)), 20);
  EXPECT_EQ(written(by_key("", "GET", 401)), 20) << "strangers have theirs together";
  EXPECT_EQ(shares.left_out().refused, 4u * 4980 + 5000);
  EXPECT_EQ(shares.left_out().refused, 0u) << "told once";
  clock.now += std::chrono::seconds(1);
  EXPECT_EQ(written(by_key("monitor", "GET", 403)), 20);
}

TEST_F(LineSharesTest, LooksAreBoundedApartFromRefusals) {
  EXPECT_EQ(written(by_key("reader", "GET", 200)), 400) << "of two seconds";
  EXPECT_EQ(written(by_key("reader", "GET", 404)), 20);
  EXPECT_EQ(written(by_link("l1", 200)), 400);
  EXPECT_EQ(shares.left_out().looks, 2u * 4600);
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

TEST_F(LineSharesTest, OnlyWhatWasNotRefusedHasChangedSomething) {
  EXPECT_TRUE(has_changed(change(204)));
  EXPECT_TRUE(has_changed(change(500)));
  EXPECT_TRUE(has_changed(change(0))) << "its client left";
  EXPECT_TRUE(has_changed(change(101, Part::kBegin)));
  EXPECT_FALSE(has_changed(change(0, Part::kBegin))) << "its end will tell";
  EXPECT_FALSE(has_changed(change(404)));
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
  for (const AccessRecord& refused : {by_key("monitor", "GET", 403), by_link("l1", 404), by_key("", "GET", 200)}) EXPECT_EQ(cut(refused).target.size(), 200u);
  const AccessRecord done = cut(change(200));
  EXPECT_EQ(done.method.size(), 32u);
  EXPECT_EQ(done.target.size(), 512u);
  EXPECT_EQ(done.subject.size(), 2048u);
  EXPECT_EQ(done.ended.size(), 200u);
}

}  // namespace
}  // namespace cay::server
