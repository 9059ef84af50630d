// Records of commands: whatever is torn off or garbled, no end is invented.
#include "wire/spool_record.h"

#include <gtest/gtest.h>

#include <random>

namespace cay::wire {
namespace {

CommandMsg running() {
  CommandMsg message;
  message.command_id = "c1";
  message.argv = {"make", "all"};
  message.started_at = 1000;
  message.boot_id = "boot-a";
  return message;
}

CommandMsg exited() {
  CommandMsg message = running();
  message.argv = {};
  message.state = 2;
  message.exit_code = 3;
  message.ended_at = 2000;
  message.out.bytes = 10;
  message.out.end_offset = 10;
  return message;
}

std::string file() {
  return std::string(kRecordHead) + record_frame(running()) + record_frame(exited());
}

TEST(SpoolRecordTest, LaterFramesReplaceEarlierOnes) {
  const auto record = read_record(file());
  ASSERT_TRUE(record);
  EXPECT_EQ(record->message.argv, (std::vector<std::string>{"make", "all"}));
  EXPECT_EQ(record->message.state, 2);
  EXPECT_EQ(record->message.exit_code, 3);
  EXPECT_EQ(record->good, file().size());
}

TEST(SpoolRecordTest, ATornTailIsAsIfItWasNeverWritten) {
  const std::string whole = file();
  const std::size_t first = kRecordHead.size() + record_frame(running()).size();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto record = read_record(std::string_view(whole).substr(0, size));
    if (size < first) {
      EXPECT_FALSE(record) << size;
      continue;
    }
    ASSERT_TRUE(record) << size;
    EXPECT_EQ(record->message.state, 1) << size;
    EXPECT_EQ(record->message.exit_code, 0) << size;
    EXPECT_EQ(record->good, first) << size;
  }
}

TEST(SpoolRecordTest, NoChangedByteMakesAnotherEnd) {
  const std::string whole = file();
  std::mt19937 random(5);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string garbled = whole;
    garbled[at] = static_cast<char>(garbled[at] ^ static_cast<char>(1 + random() % 255));
    const auto record = read_record(garbled);
    if (!record) continue;
    const bool as_before = record->message.state == 1;
    const bool as_it_was = record->message.state == 2 && record->message.exit_code == 3;
    EXPECT_TRUE(as_before || as_it_was) << at;
  }
}

TEST(SpoolRecordTest, AddedToAfterACutItReadsOn) {
  std::string torn = file();
  torn.resize(torn.size() - 5);
  const auto record = read_record(torn);
  ASSERT_TRUE(record);
  torn.resize(record->good);
  const auto again = read_record(torn + record_frame(exited()));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->message.exit_code, 3);
}

TEST(SpoolRecordTest, RecordsOfTheOldFormAreReadWholeOrNotAtAll) {
  const std::string old = encode(running()) + encode(exited());
  const auto record = read_record(old);
  ASSERT_TRUE(record);
  EXPECT_FALSE(record->framed);
  EXPECT_EQ(record->message.exit_code, 3);
  EXPECT_FALSE(read_record(std::string_view(old).substr(0, old.size() - 3)));
  EXPECT_FALSE(read_record(""));
}

TEST(SpoolRecordTest, WhatRanIsLostAndTheBootIdSaysWhy) {
  CommandMsg same = running();
  settle(same, {.size = 7, .mark = {}}, {}, "boot-a");
  EXPECT_EQ(same.state, 8);
  EXPECT_TRUE(same.reason.starts_with("keeper lost"));
  EXPECT_EQ(same.out.bytes, 7U);
  EXPECT_EQ(same.out.end_offset, 7U);
  CommandMsg other = running();
  settle(other, {.size = 7, .mark = {}}, {}, "boot-b");
  EXPECT_TRUE(other.reason.starts_with("host restarted"));
  CommandMsg ended = exited();
  settle(ended, {.size = 99, .mark = {}}, {.size = 99, .mark = {}}, "boot-b");
  EXPECT_EQ(ended.state, 2);
  EXPECT_EQ(ended.out.bytes, 10U);
}

TEST(SpoolRecordTest, WhatEndedStaysEndedAndItsOutputIsLookedAtWhereMoreCouldCome) {
  CommandMsg open = exited();
  EXPECT_FALSE(is_open(open));
  open.unsettled = true;
  ASSERT_TRUE(is_open(open));
  settle(open, {.size = 99, .mark = {}}, {}, "boot-a");
  EXPECT_FALSE(is_open(open));
  EXPECT_EQ(open.state, 2);
  EXPECT_EQ(open.exit_code, 3);
  EXPECT_EQ(open.out.bytes, 99U);
  EXPECT_EQ(open.out.end_offset, 10U);
  CommandMsg other = exited();
  other.unsettled = true;
  settle(other, {.size = 99, .mark = {}}, {}, "boot-b");
  EXPECT_FALSE(is_open(other));
  EXPECT_EQ(other.out.bytes, 10U);
}

}  // namespace
}  // namespace cay::wire
