// chmod, chown, exclusive writes, copies, moves, replacements and detailed lists, through a real
// keeper and its helpers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "keeper/testing/local_keeper.h"
#include "wire/keeper_features.h"

namespace cay::keeper::testing {
namespace {

namespace fs = std::filesystem;
using wire::FileVerb;
using wire::Type;

struct Changed {
  std::vector<wire::FileInfoMsg> infos;
  std::vector<wire::ReplacedMsg> replaced;
  wire::FileDoneMsg done;
  wire::ErrorMsg error;
};

class FileChangesTest : public ::testing::Test {
 protected:
  FileChangesTest() { fs::create_directory(root); }

  wire::FileOp op(FileVerb verb, const std::string& path) {
    wire::FileOp out;
    out.verb = static_cast<std::uint8_t>(verb);
    out.path = path;
    return out;
  }
  Changed perform(const wire::FileOp& request) {
    const std::uint32_t channel = client.ask(Type::kFileOp, request);
    if (request.verb == static_cast<std::uint8_t>(FileVerb::kWrite))
      client.send(Type::kEof, channel, wire::Eof{});
    Changed out;
    for (;;) {
      const wire::Frame frame = client.next(channel);
      switch (type_of(frame)) {
        case Type::kFileInfo:
          out.infos.push_back(wire::decode<wire::FileInfoMsg>(frame.payload).value());
          break;
        case Type::kReplaced:
          out.replaced.push_back(wire::decode<wire::ReplacedMsg>(frame.payload).value());
          break;
        case Type::kFileDone:
          out.done = wire::decode<wire::FileDoneMsg>(frame.payload).value();
          break;
        case Type::kCredit: break;
        case Type::kEof:
        case Type::kOk: return out;
        case Type::kError: out.error = error_of(frame); return out;
        default: ADD_FAILURE() << "unexpected frame"; return out;
      }
    }
  }
  std::string content(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  static mode_t mode_of(const std::string& path) {
    struct stat info{};
    return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(root), fs::directory_iterator()));
  }

  LocalKeeper keeper;
  Client client = keeper.client();
  std::string root = keeper.home() + "/files";
};

TEST_F(FileChangesTest, TheHelloListsWhatTheKeeperCanDo) {
  Client other(keeper.connect());
  const wire::Hello hello = other.hello();
  EXPECT_TRUE(hello.has(wire::keeper_feature::kFileChanges));
  EXPECT_TRUE(hello.has(wire::keeper_feature::kFileWatch));
  EXPECT_TRUE(hello.has(wire::keeper_feature::kOneFile));
}

TEST_F(FileChangesTest, ModesOfOnePathAndOfATree) {
  fs::create_directories(root + "/d/e");
  put(root + "/d/e/f", "x");
  ASSERT_EQ(::symlink("/etc/hostname", (root + "/d/link").c_str()), 0);
  wire::FileOp request = op(FileVerb::kChmod, root + "/d/e/f");
  request.mode = 04711;
  EXPECT_EQ(perform(request).done.entries, 1U);
  EXPECT_EQ(mode_of(root + "/d/e/f"), 04711U);
  request.path = root + "/d";
  request.mode = 0700;
  request.recursive = true;
  const mode_t outside = mode_of("/etc/hostname");
  EXPECT_EQ(perform(request).done.entries, 4U);
  EXPECT_EQ(mode_of(root + "/d/e"), 0700U);
  EXPECT_EQ(mode_of(root + "/d/e/f"), 0700U);
  EXPECT_EQ(mode_of("/etc/hostname"), outside);  // no link is followed
  request.path = root + "/none";
  EXPECT_EQ(perform(request).error.reason, "file_not_found");
}

TEST_F(FileChangesTest, OwnersByNameAndNumber) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give files away";
  put(root + "/f", "x");
  wire::FileOp request = op(FileVerb::kChown, root + "/f");
  struct stat info{};
  request.owner = "daemon";
  EXPECT_EQ(perform(request).done.entries, 1U);
  ASSERT_EQ(::stat((root + "/f").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 1U);
  EXPECT_EQ(info.st_gid, 0U);  // stays
  request.owner = ":daemon";
  perform(request);
  ASSERT_EQ(::stat((root + "/f").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 1U);
  EXPECT_EQ(info.st_gid, 1U);
  request.owner = "4711:4712";
  perform(request);
  ASSERT_EQ(::stat((root + "/f").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 4711U);
  EXPECT_EQ(info.st_gid, 4712U);
  for (const char* wrong : {"", ":", "nobody-at-all", "root:nobody-at-all"}) {
    request.owner = wrong;
    EXPECT_EQ(perform(request).error.reason, "bad_owner") << wrong;
  }
  wire::FileOp stat = op(FileVerb::kStat, root + "/f");
  stat.with_names = true;
  EXPECT_EQ(perform(stat).infos.at(0).owner, "");  // no such user
  request.owner = "daemon:root";
  perform(request);
  EXPECT_EQ(perform(stat).infos.at(0).owner, "daemon");
  EXPECT_EQ(perform(stat).infos.at(0).group, "root");
  stat.with_names = false;
  EXPECT_EQ(perform(stat).infos.at(0).owner, "");
}

TEST_F(FileChangesTest, AnExclusiveWriteNeverReplaces) {
  wire::FileOp request = op(FileVerb::kWrite, root + "/f");
  request.exclusive = true;
  EXPECT_EQ(perform(request).error.code, 0U);
  put(root + "/f", "mine");
  EXPECT_EQ(perform(request).error.reason, "already_exists");
  EXPECT_EQ(content(root + "/f"), "mine");
  ASSERT_EQ(::symlink("nowhere", (root + "/link").c_str()), 0);
  request.path = root + "/link";
  EXPECT_EQ(perform(request).error.reason, "already_exists");
  EXPECT_EQ(entries(), 2U);  // and nothing is left over
}

// Both see no file when they begin. The second to finish is refused.
TEST_F(FileChangesTest, OfTwoExclusiveWritesOneWins) {
  wire::FileOp request = op(FileVerb::kWrite, root + "/f");
  request.exclusive = true;
  const std::uint32_t first = client.ask(Type::kFileOp, request);
  const std::uint32_t second = client.ask(Type::kFileOp, request);
  EXPECT_EQ(type_of(client.next(first)), Type::kCredit);
  EXPECT_EQ(type_of(client.next(second)), Type::kCredit);
  client.send(Type::kEof, first, wire::Eof{});
  EXPECT_EQ(type_of(client.next(first)), Type::kFileInfo);
  client.send(Type::kEof, second, wire::Eof{});
  EXPECT_EQ(error_of(client.next(second)).reason, "already_exists");
}

TEST_F(FileChangesTest, CopiesFilesAndTrees) {
  fs::create_directories(root + "/from/sub/empty");
  put(root + "/from/a", std::string(300'000, 'a'));
  put(root + "/from/sub/b", "bee");
  ::chmod((root + "/from/sub/b").c_str(), 0751);
  ASSERT_EQ(::symlink("sub/b", (root + "/from/link").c_str()), 0);
  ASSERT_EQ(::mkfifo((root + "/from/fifo").c_str(), 0600), 0);
  wire::FileOp request = op(FileVerb::kCopy, root + "/from/a");
  request.to = root + "/new/deep/a";
  EXPECT_EQ(perform(request).error.reason, "file_not_found");
  request.parents = true;
  const Changed one = perform(request);
  EXPECT_EQ(one.done.entries, 1U);
  EXPECT_EQ(one.done.bytes, 300'000U);
  EXPECT_EQ(content(root + "/new/deep/a"), content(root + "/from/a"));

  request.path = root + "/from";
  request.to = root + "/to";
  EXPECT_EQ(perform(request).error.reason, "is_a_directory");
  request.recursive = true;
  const Changed tree = perform(request);
  ASSERT_EQ(tree.error.code, 0U) << tree.error.message;
  EXPECT_EQ(tree.done.entries, 6U);  // itself, sub, empty, a, b, link
  EXPECT_EQ(tree.done.left_out, 1U);
  EXPECT_EQ(content(root + "/to/sub/b"), "bee");
  EXPECT_EQ(mode_of(root + "/to/sub/b"), 0751U);
  EXPECT_EQ(mode_of(root + "/to"), mode_of(root + "/from"));
  EXPECT_TRUE(fs::is_directory(root + "/to/sub/empty"));
  EXPECT_EQ(fs::read_symlink(root + "/to/link"), "sub/b");
  EXPECT_EQ(fs::last_write_time(root + "/to/a"), fs::last_write_time(root + "/from/a"));

  // Into one that is there: beside what it has.
  put(root + "/to/own", "stays");
  put(root + "/to/a", "goes");
  EXPECT_EQ(perform(request).error.code, 0U);
  EXPECT_EQ(content(root + "/to/own"), "stays");
  EXPECT_EQ(content(root + "/to/a"), content(root + "/from/a"));
  request.exclusive = true;
  EXPECT_EQ(perform(request).error.reason, "already_exists");
  EXPECT_EQ(entries(), 3U);  // from, to, new
}

TEST_F(FileChangesTest, ADirectoryIsNotCopiedIntoItself) {
  fs::create_directories(root + "/d/e");
  put(root + "/d/f", "x");
  wire::FileOp request = op(FileVerb::kCopy, root + "/d");
  request.recursive = true;
  for (const char* into : {"/d/new", "/d/e", "/d/e/new", "/d"}) {
    request.to = root + into;
    EXPECT_EQ(perform(request).error.reason, "bad_path") << into;
  }
  EXPECT_EQ(std::distance(fs::recursive_directory_iterator(root + "/d"), {}), 2);
}

TEST_F(FileChangesTest, MovesWithinAndAcrossFileSystems) {
  put(root + "/a", "1");
  put(root + "/b", "2");
  wire::FileOp request = op(FileVerb::kMove, root + "/a");
  request.to = root + "/b";
  request.exclusive = true;
  EXPECT_EQ(perform(request).error.reason, "already_exists");
  request.exclusive = false;
  const Changed renamed = perform(request);
  EXPECT_FALSE(renamed.done.copied);
  EXPECT_EQ(content(root + "/b"), "1");
  EXPECT_FALSE(fs::exists(root + "/a"));

  char name[] = "/dev/shm/cay-move-XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr);
  struct stat here{}, there{};
  ::stat(root.c_str(), &here);
  ::stat(name, &there);
  if (here.st_dev == there.st_dev) GTEST_SKIP() << "/dev/shm is no file system of its own";
  fs::create_directories(root + "/tree/sub");
  put(root + "/tree/sub/f", "deep");
  request.path = root + "/tree";
  request.to = std::string(name) + "/tree";
  const Changed moved = perform(request);
  ASSERT_EQ(moved.error.code, 0U) << moved.error.message;
  EXPECT_TRUE(moved.done.copied);
  EXPECT_EQ(content(std::string(name) + "/tree/sub/f"), "deep");
  EXPECT_FALSE(fs::exists(root + "/tree"));
  // A tree with a FIFO cannot be copied, and stays where it is.
  fs::create_directories(root + "/tree");
  put(root + "/tree/f", "x");
  ASSERT_EQ(::mkfifo((root + "/tree/fifo").c_str(), 0600), 0);
  request.to = std::string(name) + "/other";
  EXPECT_EQ(perform(request).error.reason, "not_a_regular_file");
  EXPECT_TRUE(fs::exists(root + "/tree/f"));
  EXPECT_FALSE(fs::exists(std::string(name) + "/other"));
  EXPECT_EQ(std::distance(fs::directory_iterator(name), {}), 1);
  fs::remove_all(name);
}

TEST_F(FileChangesTest, ReplacesInEveryFileThatMatches) {
  fs::create_directories(root + "/sub");
  // One across the border of two pieces, and one that the replacement itself contains.
  const std::string long_line(wire::kDataChunk - 3, '.');
  put(root + "/a.txt", long_line + "needle" + long_line + "needleneedle");
  put(root + "/sub/b.txt", "a needle\n");
  put(root + "/sub/c.md", "a needle\n");
  put(root + "/none.txt", "nothing\n");
  put(root + "/binary.txt", std::string("needle\0", 7));
  ::chmod((root + "/sub/b.txt").c_str(), 0640);
  wire::FileOp request = op(FileVerb::kReplace, root);
  request.pattern = "needle";
  request.replacement = "needle-and-thread";
  request.file_glob = "*.txt";
  const Changed out = perform(request);
  ASSERT_EQ(out.error.code, 0U) << out.error.message;
  ASSERT_EQ(out.replaced.size(), 2U);
  EXPECT_EQ(out.replaced[0].path, root + "/a.txt");
  EXPECT_EQ(out.replaced[0].count, 3U);
  EXPECT_EQ(out.replaced[1].count, 1U);
  const std::string with = "needle-and-thread";
  EXPECT_EQ(content(root + "/a.txt"), long_line + with + long_line + with + with);
  EXPECT_EQ(content(root + "/sub/b.txt"), "a needle-and-thread\n");
  EXPECT_EQ(mode_of(root + "/sub/b.txt"), 0640U);
  EXPECT_EQ(content(root + "/sub/c.md"), "a needle\n");
  EXPECT_EQ(content(root + "/binary.txt"), std::string("needle\0", 7));
  request.path = root + "/sub/c.md";
  request.replacement.clear();
  EXPECT_EQ(perform(request).replaced.at(0).count, 1U);
  EXPECT_EQ(content(root + "/sub/c.md"), "a \n");
  request.pattern.clear();
  EXPECT_EQ(perform(request).error.reason, "bad_pattern");
}

TEST_F(FileChangesTest, ReplacesInOneFileOnceOrNotAtAll) {
  put(root + "/f", std::string("\0one two two", 12));
  ASSERT_EQ(::symlink("f", (root + "/link").c_str()), 0);
  wire::FileOp request = op(FileVerb::kReplace, root + "/link");
  request.one_file = true;
  request.once = true;
  request.pattern = "two";
  request.replacement = "three";
  Changed out = perform(request);
  ASSERT_EQ(out.replaced.size(), 1U);
  EXPECT_EQ(out.replaced[0].reason, "text_not_unique");
  EXPECT_EQ(out.replaced[0].count, 2U);
  EXPECT_EQ(content(root + "/f"), std::string("\0one two two", 12));
  request.pattern = "one two";
  out = perform(request);
  ASSERT_EQ(out.replaced.size(), 1U);
  EXPECT_EQ(out.replaced[0].reason, "");
  EXPECT_EQ(out.replaced[0].count, 1U);
  EXPECT_EQ(content(root + "/f"), std::string("\0three two", 10));
  EXPECT_TRUE(fs::is_symlink(root + "/link"));
  EXPECT_EQ(entries(), 2U);
  EXPECT_TRUE(perform(request).replaced.empty());  // it is not there
  request.path = root;
  EXPECT_EQ(perform(request).error.reason, "is_a_directory");
  request.path = "/proc/self/status";
  EXPECT_EQ(perform(request).error.code, static_cast<std::uint32_t>(Code::kPermissionDenied));
  request.path = "/proc/version";
  EXPECT_EQ(perform(request).error.reason, "not_a_regular_file");
}

// A kill of the helper leaves no file with a temporary name, and a capture sees none.
TEST_F(FileChangesTest, AnUploadHasNoNameBeforeItsEnd) {
  put(root + "/there", "old");
  for (const char* name : {"/there", "/new"}) {
    const std::size_t before = entries();
    const std::uint32_t upload = client.ask(Type::kFileOp, op(FileVerb::kWrite, root + name));
    EXPECT_EQ(type_of(client.next(upload)), Type::kCredit);  // it is open
    EXPECT_EQ(entries(), before) << name;
    client.send(Type::kEof, upload, wire::Eof{});
    while (type_of(client.next(upload)) != Type::kOk) {
    }
    EXPECT_EQ(content(root + name), "");
  }
  EXPECT_EQ(entries(), 2U);
}

TEST_F(FileChangesTest, ListsSeveralLevelsWithAttributes) {
  fs::create_directories(root + "/a/b/c");
  put(root + "/a/b/f", "x");
  ASSERT_EQ(::symlink("a", (root + "/link").c_str()), 0);
  wire::FileOp request = op(FileVerb::kList, root);
  EXPECT_EQ(perform(request).infos.size(), 2U);
  request.depth = 2;
  EXPECT_EQ(perform(request).infos.size(), 3U);  // not through the link
  request.depth = 64;
  const Changed all = perform(request);
  ASSERT_EQ(all.infos.size(), 5U);
  EXPECT_EQ(all.infos[3].path, root + "/a/b/f");
  if (::setxattr((root + "/a/b/f").c_str(), "user.note", "hi", 2, 0) != 0)
    GTEST_SKIP() << "no extended attributes here";
  request.with_xattrs = true;
  const Changed with = perform(request);
  ASSERT_EQ(with.infos.size(), 5U);
  ASSERT_EQ(with.infos[3].xattrs.size(), 1U);
  EXPECT_EQ(with.infos[3].xattrs[0].name, "user.note");
  EXPECT_EQ(with.infos[3].xattrs[0].value, "hi");
}

// A directory of the tree becomes a link that leads out, again and again, while the tree is worked
// on.
TEST_F(FileChangesTest, SwappedLinksLeadNobodyOut) {
  fs::create_directories(root + "/outside");
  put(root + "/outside/secret", "needle");
  ::chmod((root + "/outside/secret").c_str(), 0600);
  fs::create_directories(root + "/tree/sub");
  put(root + "/tree/sub/secret", "needle");
  ASSERT_EQ(::symlink("../outside", (root + "/swap").c_str()), 0);
  const pid_t swapper = ::fork();
  if (swapper == 0) {
    const std::string one = root + "/tree/sub", two = root + "/swap";
    for (;;) ::syscall(SYS_renameat2, AT_FDCWD, one.c_str(), AT_FDCWD, two.c_str(), 2);
  }
  ASSERT_GT(swapper, 0);
  wire::FileOp mode = op(FileVerb::kChmod, root + "/tree");
  mode.mode = 0755;
  mode.recursive = true;
  wire::FileOp replace = op(FileVerb::kReplace, root + "/tree");
  replace.pattern = "needle";
  replace.replacement = "thread";
  wire::FileOp copy = op(FileVerb::kCopy, root + "/tree");
  copy.recursive = true;
  for (int i = 0; i < 20; ++i) {
    perform(mode);
    perform(replace);
    copy.to = root + "/copy" + std::to_string(i);
    perform(copy);
    // A link is copied as a link: never what it leads to.
    const std::string copied = copy.to + "/sub";
    if (!fs::is_symlink(copied) && fs::exists(copied + "/secret")) {
      EXPECT_NE(content(copied + "/secret"), "");
    }
  }
  ::kill(swapper, SIGKILL);
  ::waitpid(swapper, nullptr, 0);
  EXPECT_EQ(content(root + "/outside/secret"), "needle");
  EXPECT_EQ(mode_of(root + "/outside/secret"), 0600U);
}

}  // namespace
}  // namespace cay::keeper::testing
