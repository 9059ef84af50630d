// The journal in SQLite: what survives, what is pruned, what happens when it cannot be written.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <numeric>

#include "base/testing/temp_dir.h"
#include "db/database.h"
#include "store/backup.h"
#include "store/store.h"

namespace cay::store {
namespace {

namespace fs = std::filesystem;

class EventTableTest : public ::testing::Test {
 protected:
  EventTableTest() { open(); }
  // A second call is a restart.
  void open() {
    store.reset();
    auto opened = open_store(path, options);
    ASSERT_TRUE(opened) << opened.error().message;
    store = *std::move(opened);
  }
  static Sandbox box(const std::string& id, const std::string& tenant = "a") {
    Sandbox out;
    out.id = SandboxId(id);
    out.tenant = TenantId(tenant);
    out.name = "box-" + id;
    out.labels = {{"k", "v"}};
    out.created_at = 5;
    return out;
  }
  static EventRecord command(const std::string& type, const std::string& id) {
    EventRecord event = event_about(box("1"), type, 7);
    event.command_id = CommandId(id);
    event.trace = "t";
    return event;
  }
  EventPage all(std::uint64_t after = 0) {
    EventQuery query;
    query.after = after;
    query.limit = 1000;
    auto page = store->events(TenantId("a"), query);
    EXPECT_TRUE(page) << page.error().message;
    return page ? *std::move(page) : EventPage();
  }

  // An event with so many bytes of labels.
  static EventRecord heavy(std::size_t bytes) {
    EventRecord event = event_about(box("1"), "sandbox.updated", 7);
    event.labels = {{"k", std::string(bytes, 'x')}};
    return event;
  }
  std::uint64_t pages(std::uint32_t limit, std::vector<std::uint64_t>& seqs) {
    EventQuery query;
    query.limit = limit;
    for (std::uint64_t count = 1;; ++count) {
      const auto page = store->events(TenantId("a"), query);
      EXPECT_TRUE(page);
      if (!page) return 0;
      std::size_t bytes = 0;
      for (const auto& event : page->items) {
        seqs.push_back(event.seq);
        bytes += event.labels.at("k").size();
      }
      EXPECT_TRUE(bytes <= (4u << 20) || page->items.size() == 1) << bytes;
      EXPECT_EQ(page->gap_begin, 0u);
      if (page->next_after == page->last) return count;
      EXPECT_EQ(page->next_after, page->items.back().seq);
      query.after = page->next_after;
    }
  }

  StoreOptions options{.keep_events = 20};
  const cay::testing::TempDir temp;
  const std::string& path = temp.path();
  std::unique_ptr<core::Store> store;
};

// A tenant that writes many labels into each event has fewer events kept.
TEST_F(EventTableTest, OldOnesGoByTheirBytesToo) {
  options = {.keep_events = 100, .keep_event_bytes = 100'000};
  open();
  const auto kept = [&] {
    const auto page = all();
    std::size_t bytes = 0;
    for (const auto& event : page.items) bytes += event.labels.at("k").size();
    EXPECT_LE(bytes, 100'000u);
    EXPECT_EQ(page.gap_begin, page.gap_end == 0 ? 0u : 1u);
    EXPECT_EQ(page.oldest, page.items.front().seq);
    EXPECT_EQ(page.gap_end + 1, page.oldest);
    EXPECT_EQ(page.items.back().seq, page.last);
    return page.items.size();
  };
  for (int i = 0; i < 50; ++i) {
    store->note_event(heavy(9'900));
    ASSERT_TRUE(store->flush_events());
    if (i == 20) open();  // the sum outlives the daemon
    if (i == 8) {
      EXPECT_EQ(kept(), 9u);
    }
  }
  EXPECT_GE(kept(), 9u) << "and no more than that goes";
  EXPECT_EQ(all().last, 50u);
  for (int i = 0; i < 3; ++i) {
    store->note_event(heavy(1'000'000));
    ASSERT_TRUE(store->flush_events());
    EXPECT_EQ(all().oldest, all().last) << "the newest stays, however large";
  }
  for (int i = 0; i < 50; ++i) store->note_event(heavy(10));
  ASSERT_TRUE(store->flush_events());
  EXPECT_EQ(kept(), 50u) << "what went is no longer counted";
}

TEST_F(EventTableTest, APageEndsByItsBytesToo) {
  for (const std::size_t bytes :
       {500'000u, 500'000u, 5'000'000u, 5'000'000u, 10u, 4'000'000u, 500'000u})
    store->note_event(heavy(bytes));
  for (int i = 0; i < 12; ++i) store->note_event(heavy(500'000));
  ASSERT_TRUE(store->flush_events());
  std::vector<std::uint64_t> by_bytes, by_limit, all_of_them(19);
  std::iota(all_of_them.begin(), all_of_them.end(), std::uint64_t{1});
  EXPECT_EQ(pages(1000, by_bytes), 6u);  // 2, 1, 1, 2, 8, 5
  EXPECT_EQ(by_bytes, all_of_them);
  pages(3, by_limit);
  EXPECT_EQ(by_limit, all_of_them);
}

// A restore leaves numbers out: they are no events, and make none go before its time.
TEST_F(EventTableTest, NumbersLeftOutCountForNothingWhenPruning) {
  for (int i = 0; i < 15; ++i) ASSERT_TRUE(store->insert(box("old" + std::to_string(i))));
  store.reset();
  const fs::path copy = fs::path(path) / "copy.db";
  ASSERT_TRUE(db::copy_database(path + "/state.db", copy));
  RestoreFacts facts;
  for (int i = 0; i < 15; ++i) facts.disks.insert("old" + std::to_string(i));
  ASSERT_TRUE(settle_restored(copy, facts));
  fs::rename(copy, fs::path(path) / "state.db");
  open();
  ASSERT_TRUE(store->insert(box("new0")));
  EXPECT_EQ(all().items.size(), 16u) << "all of the old life's are still there";
  for (int i = 1; i < 100; ++i) ASSERT_TRUE(store->insert(box("new" + std::to_string(i))));
  EventQuery oldest;
  oldest.from_oldest = true;
  oldest.limit = 1000;
  const auto page = store->events(TenantId("a"), oldest);
  ASSERT_TRUE(page);
  EXPECT_GE(page->items.size(), 20u);
  EXPECT_LE(page->items.size(), 24u);
  EXPECT_EQ(page->items.back().sandbox, "box-new99");
  EXPECT_EQ(page->items.front().seq, page->oldest);
}

TEST_F(EventTableTest, EventsAreWrittenWithTheChangeAndSurviveARestart) {
  Sandbox row = box("1");
  ASSERT_TRUE(store->insert(row));
  row.state = SandboxState::kReady;
  ASSERT_TRUE(store->update(row));
  row.last_active_at = 99;
  ASSERT_TRUE(store->update(row));  // use is no event
  store->note_event(command("command.started", "c1"));
  ASSERT_TRUE(store->erase(row.id));  // what was noted before comes before
  open();
  const auto page = all();
  ASSERT_EQ(page.items.size(), 4u);
  EXPECT_EQ(page.items[0].type, "sandbox.created");
  EXPECT_EQ(page.items[1].type, "sandbox.started");
  EXPECT_EQ(page.items[2].type, "command.started");
  EXPECT_EQ(page.items[2].labels.at("k"), "v");
  EXPECT_EQ(page.items[3].type, "sandbox.deleted");
  EXPECT_EQ(page.items[3].seq, 4u);
  EXPECT_TRUE(store->open_commands()->empty());  // it went with its sandbox
}

TEST_F(EventTableTest, OpenCommandsAreThoseWithoutAnEnd) {
  store->note_event(command("command.started", "c1"));
  store->note_event(command("command.started", "c2"));
  store->note_event(command("command.ended", "c1"));
  ASSERT_TRUE(store->flush_events());
  open();
  const auto left = store->open_commands();
  ASSERT_TRUE(left);
  ASSERT_EQ(left->size(), 1u);
  EXPECT_EQ(left->at(0).command_id.get(), "c2");
  EXPECT_EQ(left->at(0).trace, "t");
  EXPECT_TRUE(*store->knows_command(TenantId("a"), SandboxId("1"), CommandId("c1"), 7));
  EXPECT_FALSE(*store->knows_command(TenantId("a"), SandboxId("1"), CommandId("c3"), 7));
  EXPECT_EQ(*store->newest_event(), 7);
}

TEST_F(EventTableTest, OldOnesGoAndTheGapIsTold) {
  for (int i = 0; i < 100; ++i)
    store->note_event(command("command.started", "c" + std::to_string(i)));
  ASSERT_TRUE(store->flush_events());
  const auto page = all();
  EXPECT_EQ(page.last, 100u);
  EXPECT_EQ(page.gap_begin, 1u);
  EXPECT_EQ(page.gap_end + 1, page.items.front().seq);
  EXPECT_EQ(page.oldest, page.items.front().seq);
  EXPECT_GE(page.items.size(), 20u);
  EXPECT_LE(page.items.size(), 25u);
  EXPECT_EQ(page.items.back().seq, 100u);
  EXPECT_EQ(all(page.gap_end).gap_begin, 0u);
}

// A command whose events are pruned gets no second event.
TEST_F(EventTableTest, WhatMayHaveBeenPrunedCountsAsKnown) {
  for (int i = 0; i < 100; ++i) {
    EventRecord event = command("command.started", "c" + std::to_string(i));
    event.at = 1000 + i;
    store->note_event(std::move(event));
  }
  ASSERT_TRUE(store->flush_events());
  open();
  const auto pruned =
      static_cast<UnixMillis>(1000 + all().gap_end - 1);  // when the last of them happened
  EXPECT_TRUE(*store->knows_command(TenantId("a"), SandboxId("1"), CommandId("c0"), 1000));
  EXPECT_TRUE(*store->knows_command(TenantId("a"), SandboxId("1"), CommandId("other"), pruned));
  EXPECT_FALSE(
      *store->knows_command(TenantId("a"), SandboxId("1"), CommandId("other"), pruned + 1));
  EXPECT_FALSE(*store->knows_command(TenantId("b"), SandboxId("1"), CommandId("other"), 1000));
}

TEST_F(EventTableTest, ANotesNumberIsWrittenWithItsEventAndGoesWithItsSandbox) {
  ASSERT_TRUE(store->insert(box("1")));
  EventRecord event = command("command.started", "c1");
  event.note = {(std::uint64_t{1} << 62) + 3, 41};
  store->note_event(event);
  open();
  EXPECT_TRUE(store->note_marks()->empty());  // it was not written: neither is on record
  store->note_event(event);
  event.note.number = 42;
  event.type = "command.ended";
  store->note_event(event);
  ASSERT_TRUE(store->flush_events());
  open();
  const auto marks = store->note_marks();
  ASSERT_TRUE(marks);
  ASSERT_EQ(marks->size(), 1u);
  EXPECT_EQ(marks->at(SandboxId("1")).life, (std::uint64_t{1} << 62) + 3);
  EXPECT_EQ(marks->at(SandboxId("1")).number, 42u);
  ASSERT_TRUE(store->erase(SandboxId("1")));
  EXPECT_TRUE(store->note_marks()->empty());
}

TEST_F(EventTableTest, EachTenantCountsForItself) {
  ASSERT_TRUE(store->insert(box("1")));
  ASSERT_TRUE(store->insert(box("2", "b")));
  ASSERT_TRUE(store->insert(box("3")));
  const auto page = all();
  ASSERT_EQ(page.items.size(), 2u);
  EXPECT_EQ(page.items[1].seq, 2u);
  EXPECT_EQ(page.items[1].sandbox, "box-3");
}

TEST_F(EventTableTest, WhatCannotBeWrittenIsKeptAndComesInOrder) {
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open((path + "/state.db").c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "ALTER TABLE event RENAME TO away", nullptr, nullptr, nullptr),
            SQLITE_OK);
  store->note_event(command("command.started", "c1"));
  EXPECT_FALSE(store->flush_events());
  EXPECT_FALSE(store->insert(box("1")));  // neither the row nor its event
  ASSERT_EQ(sqlite3_exec(other, "ALTER TABLE away RENAME TO event", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(other);
  EXPECT_TRUE(store->all()->empty());
  ASSERT_TRUE(store->insert(box("1")));
  const auto page = all();
  ASSERT_EQ(page.items.size(), 2u);
  EXPECT_EQ(page.items[0].type, "command.started");
  EXPECT_EQ(page.items[0].seq, 1u);
}

TEST_F(EventTableTest, MoreThanCanBeHeldIsSaid) {
  for (int i = 0; i < 10'003; ++i)
    store->note_event(command("command.ended", "c" + std::to_string(i)));
  ASSERT_TRUE(store->flush_events());
  EventQuery query;
  query.from_oldest = true;
  query.limit = 1000;
  query.types = {"journal."};
  // It was numbered first, so it is among the pruned here; what is left ends with the newest.
  EXPECT_EQ(all().items.back().command_id.get(), "c10002");
  EXPECT_EQ(all().last, 10'001u);
}

}  // namespace
}  // namespace cay::store
