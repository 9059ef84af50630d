// Watched directories, through a real keeper and its helper.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/error.h"
#include "keeper/testing/local_keeper.h"

namespace cay::keeper::testing {
namespace {

namespace fs = std::filesystem;
using wire::FileVerb;
using wire::Type;

constexpr std::uint8_t kCreated = 1, kModified = 2, kAttributes = 3, kDeleted = 4, kMoved = 5,
                       kGap = 6;
constexpr std::uint64_t kWindow = 64 * 1024;

class FileWatchTest : public ::testing::Test {
 protected:
  FileWatchTest() { fs::create_directory(root); }

  // Begins to watch; the channel.
  std::uint32_t watch(const std::string& path, std::uint64_t credit = kWindow) {
    wire::FileOp op;
    op.verb = static_cast<std::uint8_t>(FileVerb::kWatch);
    op.path = path;
    op.recursive = true;
    op.credit = credit;
    const std::uint32_t channel = client.ask(Type::kFileOp, op);
    EXPECT_EQ(type_of(next(channel)), Type::kOk);
    return channel;
  }
  // The next frame that is no sign of long work.
  wire::Frame next(std::uint32_t channel) {
    for (;;) {
      wire::Frame frame = client.next(channel);
      if (type_of(frame) != Type::kCredit) return frame;
    }
  }
  wire::FileEventMsg event(std::uint32_t channel) {
    const wire::Frame frame = next(channel);
    EXPECT_EQ(type_of(frame), Type::kFileEvent) << error_of(frame).message;
    client.send(Type::kCredit, channel, wire::Credit{frame.payload.size()});
    return wire::decode<wire::FileEventMsg>(frame.payload).value();
  }
  void expect(std::uint32_t channel, std::uint8_t kind, const std::string& path,
              const std::string& to = {}) {
    const wire::FileEventMsg got = event(channel);
    EXPECT_EQ(got.kind, kind) << got.path;
    EXPECT_EQ(got.path, root + path);
    EXPECT_EQ(got.to, to.empty() ? "" : root + to);
  }
  void put(const std::string& path, const std::string& text = {}) {
    std::ofstream(root + path, std::ios::binary) << text;
  }

  LocalKeeper keeper;
  Client client = keeper.client();
  std::string root = keeper.home() + "/files";
};

TEST_F(FileWatchTest, EveryKindOfChange) {
  put("/old", "x");
  const std::uint32_t channel = watch(root);
  put("/f", "text");
  expect(channel, kCreated, "/f");
  expect(channel, kModified, "/f");
  fs::permissions(root + "/f", fs::perms::owner_all);
  expect(channel, kAttributes, "/f");
  fs::rename(root + "/f", root + "/g");
  expect(channel, kMoved, "/f", "/g");
  fs::remove(root + "/g");
  expect(channel, kDeleted, "/g");
  fs::remove(root + "/old");
  expect(channel, kDeleted, "/old");
}

// No temporary name is seen, although an upload over a file has one for a moment.
TEST_F(FileWatchTest, AnUploadIsOneChangeOfItsFile) {
  const std::uint32_t channel = watch(root);
  for (const std::uint8_t kind : {kCreated, kModified}) {
    wire::FileOp op;
    op.verb = static_cast<std::uint8_t>(FileVerb::kWrite);
    op.path = root + "/f";
    const std::uint32_t upload = client.ask(Type::kFileOp, op);
    EXPECT_EQ(type_of(client.next(upload)), Type::kCredit);
    client.send(Type::kData, upload, wire::encode_data({.offset = 0, .bytes = "content"}));
    client.send(Type::kEof, upload, wire::Eof{});
    for (wire::Frame frame = client.next(upload); type_of(frame) != Type::kOk;
         frame = client.next(upload))
      ASSERT_NE(type_of(frame), Type::kError) << error_of(frame).message;
    expect(channel, kind, "/f");
  }
  put("/last");
  expect(channel, kCreated, "/last");
}

// The kernel gives its events the name "#" and a number.
TEST_F(FileWatchTest, AFileWithoutANameIsNotSeenAndOneOfThatNameIs) {
  put("/#12", "x");
  const std::uint32_t channel = watch(root);
  const int unnamed = ::open(root.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (unnamed < 0) GTEST_SKIP() << "this file system has no O_TMPFILE";
  EXPECT_EQ(::fchmod(unnamed, 0640), 0);
  EXPECT_EQ(::ftruncate(unnamed, 100), 0);
  ::close(unnamed);
  fs::permissions(root + "/#12", fs::perms::owner_all);
  expect(channel, kAttributes, "/#12");
  put("/#13");
  expect(channel, kCreated, "/#13");
  fs::permissions(root + "/#13", fs::perms::owner_all);
  expect(channel, kAttributes, "/#13");
  fs::remove(root + "/#12");
  expect(channel, kDeleted, "/#12");
  fs::rename(root + "/#13", root + "/f");
  expect(channel, kMoved, "/#13", "/f");
}

// A program may use a temporary name as of Cay's. Its changes are sent, too.
TEST_F(FileWatchTest, ATemporaryNameOfAnotherProgramIsSeen) {
  const std::string name = "/.cay-0123456789abcdef01234567";
  fs::create_directory(root + "/sub");
  const std::uint32_t channel = watch(root);
  put(name, "x");  // it is written to
  expect(channel, kCreated, name);
  expect(channel, kModified, name);
  fs::remove(root + name);
  expect(channel, kDeleted, name);
  const auto link = [&] { ASSERT_EQ(::link((root + "/sub/x").c_str(), (root + name).c_str()), 0); };
  put("/sub/x");
  expect(channel, kCreated, "/sub/x");
  link();  // it stays
  expect(channel, kCreated, name);
  fs::remove(root + name);
  expect(channel, kDeleted, name);
  link();  // it goes at once
  fs::remove(root + name);
  expect(channel, kCreated, name);
  expect(channel, kDeleted, name);
  link();  // it goes to another directory
  fs::rename(root + name, root + "/sub/y");
  expect(channel, kCreated, name);
  expect(channel, kMoved, name, "/sub/y");
  link();  // and away
  fs::rename(root + name, keeper.home() + "/gone");
  expect(channel, kCreated, name);
  expect(channel, kDeleted, name);
}

TEST_F(FileWatchTest, NewDirectoriesAreWatchedWithWhatCameIntoThem) {
  const std::uint32_t channel = watch(root);
  std::set<std::string> made;
  for (int i = 0; i < 100; ++i) {
    std::string path = root;
    for (const char* part : {"/a", "/b", "/c"}) {
      path += part + std::to_string(i);
      fs::create_directory(path);
      made.insert(path);
    }
    std::ofstream(path + "/f") << "x";
    made.insert(path + "/f");
  }
  std::map<std::string, int> seen;
  while (seen.size() < made.size()) {
    const wire::FileEventMsg got = event(channel);
    ASSERT_NE(got.kind, kGap);
    if (got.kind == kCreated) ++seen[got.path];
  }
  for (const std::string& path : made) EXPECT_EQ(seen[path], 1) << path;
}

TEST_F(FileWatchTest, AMovedDirectoryIsReportedUnderItsNewName) {
  fs::create_directories(root + "/a/deep");
  fs::create_directories(keeper.home() + "/elsewhere/sub");
  const std::uint32_t channel = watch(root);
  fs::rename(root + "/a", root + "/b");
  expect(channel, kMoved, "/a", "/b");
  put("/b/deep/f");
  expect(channel, kCreated, "/b/deep/f");
  fs::rename(root + "/b", keeper.home() + "/gone");
  expect(channel, kDeleted, "/b");
  std::ofstream(keeper.home() + "/gone/deep/unseen") << "x";
  fs::rename(keeper.home() + "/elsewhere", root + "/in");
  expect(channel, kCreated, "/in");
  expect(channel, kCreated, "/in/sub");
  put("/in/sub/f");
  expect(channel, kCreated, "/in/sub/f");
}

TEST_F(FileWatchTest, AnOverflowIsAGapAndWhatComesAfterItIsSeen) {
  fs::create_directories(root + "/sub");
  std::ifstream limit("/proc/sys/fs/inotify/max_queued_events");
  int queued = 0;
  limit >> queued;
  ASSERT_GT(queued, 0);
  if (queued > 100'000) GTEST_SKIP() << "the queue of inotify is very long here";
  const std::uint32_t channel = watch(root, 2048);  // it waits for credit after a few events
  put("/sub/0");
  put("/sub/1");
  // Beside the queue, the helper holds what it read before it waits: 64 KiB, 2,048 events.
  const int changes = queued + 5000;
  for (int i = 0; i < changes; ++i)  // of two in turn: the kernel merges equal events
    ::chmod((root + "/sub/" + std::to_string(i % 2)).c_str(), 0600);
  fs::create_directories(root + "/late/dir");
  int changed = 0;
  bool gap = false;
  while (!gap) {
    const wire::FileEventMsg got = event(channel);
    changed += got.kind == kAttributes ? 1 : 0;
    gap = got.kind == kGap && got.path == root;
  }
  EXPECT_LT(changed, changes);
  EXPECT_GT(changed, 0);
  put("/late/dir/f");
  for (;;) {
    const wire::FileEventMsg got = event(channel);
    if (got.path == root + "/late/dir/f") break;
  }
}

TEST_F(FileWatchTest, TheEndOfTheDirectoryIsReported) {
  fs::create_directories(root + "/d");
  const std::uint32_t channel = watch(root + "/d");
  fs::remove(root + "/d");
  wire::Frame frame = next(channel);
  while (type_of(frame) == Type::kFileEvent) frame = next(channel);  // its attributes
  EXPECT_EQ(error_of(frame).reason, "watch_root_gone");
  wire::FileOp op;
  op.verb = static_cast<std::uint8_t>(FileVerb::kWatch);
  op.path = root + "/none";
  EXPECT_EQ(error_of(client.call(Type::kFileOp, op)).reason, "file_not_found");
  put("/file");
  op.path = root + "/file";
  EXPECT_EQ(error_of(client.call(Type::kFileOp, op)).reason, "not_a_directory");
}

TEST_F(FileWatchTest, WatchesAreBoundedAndLeaveRoomForFileWork) {
  std::vector<std::uint32_t> channels;
  for (int i = 0; i < 16; ++i) channels.push_back(watch(root));
  wire::FileOp op;
  op.verb = static_cast<std::uint8_t>(FileVerb::kWatch);
  op.path = root;
  EXPECT_EQ(error_of(client.call(Type::kFileOp, op)).reason, "too_many_watches");
  client.send(Type::kCancel, channels.back(), wire::Empty{});
  op.verb = static_cast<std::uint8_t>(FileVerb::kStat);
  EXPECT_EQ(type_of(client.call(Type::kFileOp, op)), Type::kFileInfo);
  op.verb = static_cast<std::uint8_t>(FileVerb::kWatch);
  for (int i = 0; i < 2000; ++i) {  // its helper ends soon
    const std::uint32_t channel = client.ask(Type::kFileOp, op);
    if (type_of(client.next(channel)) == Type::kOk) return;
    ::usleep(1000);
  }
  ADD_FAILURE() << "a cancelled watch still counts";
}

}  // namespace
}  // namespace cay::keeper::testing
