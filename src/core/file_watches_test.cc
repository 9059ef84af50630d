#include "core/core_fixture.h"

namespace cay::core {
namespace {

class FileWatchesTest : public CoreTest {
 protected:
  FileWatchesTest() {
    EXPECT_TRUE(open());
    id = create("box")->id;
    feed = std::make_shared<testing::FakeLiveFileChanges::Feed>(loop.get_executor());
    runtime.box(id).feed = feed;
  }
  WatchInfo watch(std::int64_t idle_s = 300) {
    auto info = run(core->file_watches().open(alice, "box", {.path = "/d", .idle_s = idle_s}));
    EXPECT_TRUE(info) << info.error().message;
    return info ? *info : WatchInfo();
  }
  void happens(const std::string& path) {
    feed->events.push_back({.kind = FileEventKind::kCreated, .path = path});
    feed->changed.notify();
  }
  Result<WatchPage> read(const WatchInfo& info, std::uint64_t after, std::uint32_t limit = 1000,
                         Millis wait = Millis(0)) {
    return run(core->file_watches().read(alice, "box", info.id, after, limit, wait));
  }

  SandboxId id;
  std::shared_ptr<testing::FakeLiveFileChanges::Feed> feed;
};

TEST_F(FileWatchesTest, ReadersComeAndGoAndMissNothing) {
  const WatchInfo info = watch();
  happens("/d/a");
  happens("/d/b");
  drain();
  auto page = read(info, 0, 1);
  ASSERT_TRUE(page);
  ASSERT_EQ(page->items.size(), 1U);
  EXPECT_EQ(page->items[0].seq, 1U);
  EXPECT_EQ(page->items[0].path, "/d/a");
  EXPECT_EQ(page->next_after, 1U);
  page = read(info, 1);
  ASSERT_EQ(page->items.size(), 1U);
  EXPECT_EQ(page->items[0].seq, 2U);
  EXPECT_EQ(page->gap_begin, 0U);
  EXPECT_EQ(read(info, 0)->items.size(), 2U);  // another reader
  EXPECT_EQ(read(info, 3).error().reason, "offset_past_end");
}

TEST_F(FileWatchesTest, AReaderWaitsForTheNextEvent) {
  const WatchInfo info = watch();
  auto waiting = begin(core->file_watches().read(alice, "box", info.id, 0, 10, Millis(60'000)));
  drain();
  EXPECT_EQ(core->registry().by_id(id)->holds, 1) << "whoever waits uses the sandbox";
  happens("/d/a");
  auto page = finish(waiting);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items.size(), 1U);
  EXPECT_EQ(core->registry().by_id(id)->holds, 0) << "the watch alone does not";
}

TEST_F(FileWatchesTest, AReaderWhoComesTooLateGetsAGap) {
  const WatchInfo info = watch();
  constexpr std::uint64_t kMany = 70'000;
  for (std::uint64_t i = 0; i < kMany; ++i)
    feed->events.push_back({.kind = FileEventKind::kModified, .path = "/d/f"});
  feed->changed.notify();
  drain();
  auto page = read(info, 10, 5);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->gap_begin, 11U);
  ASSERT_EQ(page->items.size(), 5U);
  EXPECT_EQ(page->gap_end + 1, page->items[0].seq);
  EXPECT_GT(page->gap_end, 1000U);
  EXPECT_EQ(read(info, kMany)->next_after, kMany);
}

TEST_F(FileWatchesTest, TheEndIsReportedAfterTheLastEvent) {
  const WatchInfo info = watch();
  happens("/d/a");
  feed->end = Error{Code::kLost, "keeper_lost", "the sandbox was stopped", 0};
  drain();
  EXPECT_FALSE(feed->watched);
  const auto page = read(info, 0);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items.size(), 1U);
  ASSERT_TRUE(page->ended);
  EXPECT_EQ(page->ended->reason, "keeper_lost");
  EXPECT_EQ(run(core->file_watches().list(alice, "box"))->at(0).ended->reason, "keeper_lost");
}

TEST_F(FileWatchesTest, AWatchThatNobodyReadsEnds) {
  const WatchInfo info = watch(1);
  EXPECT_TRUE(feed->watched);
  // Its time is a real second: the wait ends when the watch does.
  auto page = run(core->file_watches().read(alice, "box", info.id, 0, 10, Millis(1)));
  ASSERT_TRUE(page);
  for (int i = 0; i < 400 && feed->watched; ++i) {
    loop.restart();
    loop.run_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(feed->watched);
  EXPECT_EQ(read(info, 0)->ended->reason, "watch_idle");
}

TEST_F(FileWatchesTest, OthersAndOldIdsAreNotFound) {
  const WatchInfo info = watch();
  EXPECT_EQ(run(core->file_watches().read(bob, "box", info.id, 0, 1, Millis(0))).error().reason,
            "sandbox_not_found");
  ASSERT_TRUE(create("other"));
  EXPECT_EQ(run(core->file_watches().read(alice, "other", info.id, 0, 1, Millis(0))).error().reason,
            "watch_not_found");
  ASSERT_TRUE(run(core->file_watches().close(alice, "box", info.id)));
  drain();
  EXPECT_FALSE(feed->watched);
  EXPECT_EQ(read(info, 0).error().reason, "watch_not_found");
}

TEST_F(FileWatchesTest, FilesChangeThroughTheVerbs) {
  auto& files = runtime.box(id).fake_files();
  files.put("/d/f", "needle");
  ASSERT_TRUE(run(core->file_changes().set_mode(alice, "box", "/d/f", {}, {.mode = 0600})));
  EXPECT_EQ(files.tree.at("/d/f").info.mode, 0600U);
  EXPECT_EQ(
      run(core->file_changes().set_mode(alice, "box", "/d/f", {}, {.mode = 010000})).error().reason,
      "invalid_mode");
  EXPECT_EQ(
      run(core->file_changes().set_owner(alice, "box", "/d/f", {}, {.owner = ""})).error().reason,
      "bad_owner");
  EXPECT_EQ(
      run(core->file_changes().list_levels(alice, "box", "/d", {}, {.depth = 65})).error().reason,
      "invalid_depth");
  EXPECT_EQ(run(core->file_changes().replace(alice, "box",
                                             {.root = "/d", .text = "", .replacement = ""}, {}))
                .error()
                .reason,
            "invalid_pattern");
  auto several = run(core->file_changes().read_several(alice, "box", {"/d/f", "/none"}, {}));
  ASSERT_TRUE(several);
  EXPECT_EQ(core->registry().by_id(id)->holds, 1);
  const auto next = [&]() -> Task<NamedFile> {
    auto file = co_await (*several)->next();
    co_return *std::move(file);
  };
  auto first = run(next());
  ASSERT_TRUE(first && first->content);
  EXPECT_EQ(*run(first->content->bytes->next()), "needle");
  auto second = run(next());
  ASSERT_TRUE(second);
  EXPECT_EQ(second->content.error().code, Code::kNotFound);
}

}  // namespace
}  // namespace cay::core
