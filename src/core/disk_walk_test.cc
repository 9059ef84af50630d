// A walk finds the changes of a sandbox: its own entries against the files below them.
#include "core/disk_walk.h"

#include <gtest/gtest.h>

#include "core/testing/fake_live_sandbox.h"
#include "core/testing/run.h"

namespace cay::core {
namespace {

using testing::FakeLiveSandbox;

constexpr const char* kPlace = "/.cay-diff-x";

class DiskWalkTest : public ::testing::Test {
 protected:
  DiskWalkTest() {
    testing::FakeDisk disk;
    disk.files = std::make_shared<testing::FakeFiles>([] { return UnixMillis(7); });
    disk.commands =
        std::make_shared<testing::FakeCommands>(loop.get_executor(), [] { return UnixMillis(7); });
    disk.upper = std::make_shared<testing::FakeUpper>();
    files = disk.files.get();
    live = std::make_shared<FakeLiveSandbox>(BootSpec{}, std::move(disk));
    files->put("/etc/same", "same");
    files->put("/etc/grown", "1");
    files->put("/etc/gone", "gone", 0600);
    files->put("/etc/equal-size", "one");
    files->put("/old/a", "a");
    files->put("/old/b", "b");
    files->put_directory("/var", 0755);
  }

  // An entry of the disk. A file's content lies at its place, too.
  void add(const std::string& path, EntryKind kind, const std::string& content = {},
           std::uint32_t mode = 0644) {
    LayerEntry entry;
    entry.path = path;
    entry.kind = kind;
    entry.size = content.size();
    entry.mode = kind == EntryKind::kDirectory && mode == 0644 ? 0755 : mode;
    events.emplace_back(entry);
    if (content.empty()) return;
    events.emplace_back(Bytes(content));
    files->put(std::string(kPlace) + "/" + path, content, mode);
  }

  std::vector<std::string> walk() {
    live->directories[kPlace] = events;
    Channel<DiskChange> out(loop.get_executor(), 1000);
    DiskWalk walk(live, kPlace, out);
    const auto done = testing::run<void>(loop, walk.run());
    EXPECT_TRUE(done) << done.error().message;
    std::vector<std::string> told;
    while (const auto change = out.try_pop()) {
      told.push_back(std::string(text_of(change->kind)) + " " + change->path);
      if (change->before)
        told.back() += " from " + std::to_string(change->before->size) + "/" +
                       std::to_string(change->before->mode);
      if (change->after)
        told.back() += " to " + std::to_string(change->after->size) + "/" +
                       std::to_string(change->after->mode);
    }
    return told;
  }

  asio::io_context loop;
  testing::FakeFiles* files = nullptr;
  std::shared_ptr<FakeLiveSandbox> live;
  std::vector<LayerEvent> events;
};

using Lines = std::vector<std::string>;

TEST_F(DiskWalkTest, EachPathIsAddedChangedOrDeleted) {
  add("", EntryKind::kDirectory);
  add("etc", EntryKind::kDirectory);
  add("etc/equal-size", EntryKind::kFile, "two");
  add("etc/gone", EntryKind::kGone);
  add("etc/grown", EntryKind::kFile, "123", 0600);
  add("etc/new", EntryKind::kFile, "new");
  add("etc/same", EntryKind::kFile, "same");
  add("etc/unknown", EntryKind::kGone);
  add("srv", EntryKind::kDirectory);
  add("srv/deep", EntryKind::kFile, "d");
  EXPECT_EQ(walk(),
            (Lines{"changed /etc/equal-size from 3/420 to 3/420", "deleted /etc/gone from 4/384",
                   "changed /etc/grown from 1/420 to 3/384", "added /etc/new to 3/420",
                   "added /srv to 0/493", "added /srv/deep to 1/420"}));
}

TEST_F(DiskWalkTest, AReplacedDirectoryLostWhatItHad) {
  add("", EntryKind::kDirectory);
  add("old", EntryKind::kDirectory);
  add("old", EntryKind::kOpaque);
  add("old/a", EntryKind::kFile, "a");
  add("old/c", EntryKind::kFile, "c");
  EXPECT_EQ(walk(), (Lines{"added /old/c to 1/420", "deleted /old/b from 1/420"}));
}

TEST_F(DiskWalkTest, ADirectoryCountsIfItsModeOrKindChanged) {
  add("", EntryKind::kDirectory);
  add("etc", EntryKind::kFile, "now a file");
  add("tmp", EntryKind::kDirectory, "", 01777);  // as init makes it
  add("var", EntryKind::kDirectory, "", 0700);
  EXPECT_EQ(walk(),
            (Lines{"changed /etc from 0/493 to 10/420", "changed /var from 0/493 to 0/448"}));
}

TEST_F(DiskWalkTest, AReaderThatLeavesEndsTheWalk) {
  add("", EntryKind::kDirectory);
  for (int i = 0; i < 10; ++i) add("new" + std::to_string(i), EntryKind::kFile, "x");
  live->directories[kPlace] = events;
  Channel<DiskChange> out(loop.get_executor(), 2);
  DiskWalk walk(live, kPlace, out);
  auto walking = testing::start<void>(loop, walk.run());
  EXPECT_FALSE(walking->done());
  out.close();
  EXPECT_TRUE(testing::finish<void>(loop, *walking));
}

}  // namespace
}  // namespace cay::core
