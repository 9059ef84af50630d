// File operations through a real keeper and its helpers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "base/error.h"
#include "keeper/testing/local_keeper.h"

namespace cay::keeper::testing {
namespace {

using wire::FileVerb;
using wire::Type;

struct Answer {
  std::vector<wire::FileInfoMsg> infos;
  std::vector<wire::GrepMatchMsg> matches;
  std::string data;
  wire::ErrorMsg error;
  bool truncated = false;
};

class FilesTest : public ::testing::TestWithParam<Transport> {
 protected:
  FilesTest() { std::filesystem::create_directory(root); }

  wire::FileOp op(FileVerb verb, const std::string& path) {
    wire::FileOp out;
    out.verb = static_cast<std::uint8_t>(verb);
    out.path = path;
    out.credit = 256 * 1024;
    return out;
  }
  Answer collect(std::uint32_t channel) {
    Answer answer;
    for (;;) {
      const wire::Frame frame = client.next(channel);
      switch (type_of(frame)) {
        case Type::kFileInfo:
          answer.infos.push_back(wire::decode<wire::FileInfoMsg>(frame.payload).value());
          break;
        case Type::kGrepMatch:
          answer.matches.push_back(wire::decode<wire::GrepMatchMsg>(frame.payload).value());
          break;
        case Type::kData: {
          const auto data = wire::decode_data(frame.payload).value();
          answer.data += data.bytes;
          client.send(Type::kCredit, channel, wire::Credit{data.bytes.size()});
          break;
        }
        case Type::kCredit: break;
        case Type::kEof:
          answer.truncated = wire::decode<wire::Eof>(frame.payload).value().truncated;
          return answer;
        case Type::kOk: return answer;
        case Type::kError: answer.error = error_of(frame); return answer;
        default: ADD_FAILURE() << "unexpected frame"; return answer;
      }
    }
  }
  Answer perform(const wire::FileOp& request) {
    return collect(client.ask(Type::kFileOp, request));
  }

  Answer write(const wire::FileOp& request, std::string_view content) {
    const std::uint32_t channel = client.ask(Type::kFileOp, request);
    std::uint64_t credit = 0;
    std::uint64_t offset = 0;
    while (!content.empty()) {
      while (credit == 0) {
        const wire::Frame frame = client.next(channel);
        if (type_of(frame) != Type::kCredit) {
          Answer failed;
          failed.error = error_of(frame);
          return failed;
        }
        credit += wire::decode<wire::Credit>(frame.payload).value().bytes;
      }
      wire::Data data;
      data.offset = offset;
      data.bytes = content.substr(
          0, static_cast<std::size_t>(std::min<std::uint64_t>(credit, wire::kDataChunk)));
      client.send(Type::kData, channel, wire::encode_data(data));
      credit -= data.bytes.size();
      offset += data.bytes.size();
      content.remove_prefix(data.bytes.size());
    }
    client.send(Type::kEof, channel, wire::Eof{});
    return collect(channel);
  }
  std::string content(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  LocalKeeper keeper{GetParam(), [](Context& context) { context.file_deadline_ms = 400; }};
  Client client = keeper.client();
  std::string root = keeper.home() + "/files";
};

INSTANTIATE_TEST_SUITE_P(Over, FilesTest, ::testing::Values(Transport::kUnix, Transport::kTcp),
                         [](const auto& transport) {
                           return transport.param == Transport::kUnix ? "Unix" : "Tcp";
                         });

TEST_P(FilesTest, WritesAndReadsBackAnyBytes) {
  std::string bytes(5'000'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(i * 2654435761U >> 13);
  wire::FileOp request = op(FileVerb::kWrite, root + "/a/b/c.bin");
  request.parents = true;
  request.mode = 0640;
  const Answer written = write(request, bytes);
  ASSERT_EQ(written.error.code, 0U) << written.error.message;
  ASSERT_EQ(written.infos.size(), 1U);
  EXPECT_EQ(written.infos[0].size, bytes.size());
  EXPECT_EQ(written.infos[0].mode, 0640U);
  const Answer got = perform(op(FileVerb::kRead, root + "/a/b/c.bin"));
  ASSERT_EQ(got.infos.size(), 1U);
  EXPECT_EQ(got.infos[0].inode, written.infos[0].inode);
  EXPECT_TRUE(got.data == bytes);
  wire::FileOp range = op(FileVerb::kRead, root + "/a/b/c.bin");
  range.offset = 1'000'001;
  range.length = 777;
  EXPECT_TRUE(perform(range).data == bytes.substr(1'000'001, 777));
  range.offset = bytes.size() + 1;
  EXPECT_EQ(perform(range).error.code, static_cast<std::uint32_t>(Code::kOutOfRange));
  EXPECT_TRUE(!kMemoryTells || keeper.peak_kib() < 64 * 1024) << keeper.peak_kib();
}

TEST_P(FilesTest, AReaderSeesTheOldOrTheNewFileAndNothingIsLeft) {
  put(root + "/f", "old");
  ::chmod((root + "/f").c_str(), 0751);
  wire::FileOp request = op(FileVerb::kWrite, root + "/f");
  request.keep_mode = true;
  const std::uint32_t channel = client.ask(Type::kFileOp, request);
  EXPECT_EQ(type_of(client.next(channel)), Type::kCredit);
  wire::Data data;
  data.bytes = "half";
  client.send(Type::kData, channel, wire::encode_data(data));
  client.send(Type::kCancel, channel, wire::Empty{});
  for (int i = 0; i < 500; ++i) {
    if (perform(op(FileVerb::kList, root)).infos.size() == 1) break;
  }
  EXPECT_EQ(perform(op(FileVerb::kList, root)).infos.size(), 1U);
  EXPECT_EQ(content(root + "/f"), "old");
  EXPECT_EQ(write(request, "new").infos.at(0).mode, 0751U);
  EXPECT_EQ(content(root + "/f"), "new");
  // Through a link, the link stays.
  ASSERT_EQ(::symlink("f", (root + "/link").c_str()), 0);
  request.path = root + "/link";
  write(request, "by link");
  EXPECT_EQ(content(root + "/f"), "by link");
  EXPECT_TRUE(std::filesystem::is_symlink(root + "/link"));
}

TEST_P(FilesTest, OnlyRegularFilesAreReadOrWritten) {
  ASSERT_EQ(::mkfifo((root + "/fifo").c_str(), 0666), 0);
  EXPECT_EQ(perform(op(FileVerb::kRead, root + "/fifo")).error.reason, "not_a_regular_file");
  EXPECT_EQ(write(op(FileVerb::kWrite, root + "/fifo"), "x").error.reason, "not_a_regular_file");
  const wire::ErrorMsg directory = perform(op(FileVerb::kRead, root)).error;
  EXPECT_EQ(directory.reason, "is_a_directory");
  EXPECT_NE(directory.message.find("is a directory"), std::string::npos);
  EXPECT_EQ(perform(op(FileVerb::kRead, "/dev/zero")).error.reason, "not_a_regular_file");
  EXPECT_EQ(perform(op(FileVerb::kReadTree, "/proc")).error.reason, "not_a_regular_file");
  EXPECT_EQ(perform(op(FileVerb::kRead, root + "/none")).error.code,
            static_cast<std::uint32_t>(Code::kNotFound));
  ASSERT_EQ(::symlink("loop", (root + "/loop").c_str()), 0);
  EXPECT_EQ(perform(op(FileVerb::kRead, root + "/loop")).error.reason, "symlink_loop");
  EXPECT_EQ(write(op(FileVerb::kWrite, root + "/loop"), "x").error.reason, "symlink_loop");
  // Its own memory is a copy of the keeper's.
  EXPECT_EQ(perform(op(FileVerb::kRead, "/proc/self/mem")).error.reason, "permission_denied");
  EXPECT_EQ(perform(op(FileVerb::kRead, "/proc/thread-self/environ")).error.reason,
            "permission_denied");
  // Nor is its program one of the sandbox's; what other programs are, is (positive control).
  EXPECT_EQ(perform(op(FileVerb::kRead, "/proc/self/exe")).error.reason, "permission_denied");
  ASSERT_EQ(::symlink("/proc/self/exe", (root + "/exe").c_str()), 0);
  EXPECT_EQ(perform(op(FileVerb::kRead, root + "/exe")).error.reason, "permission_denied");
  EXPECT_GT(perform(op(FileVerb::kRead, "/bin/sh")).data.size(), 1000U);
  EXPECT_GT(perform(op(FileVerb::kRead, "/proc/version")).data.size(), 10U);
}

// Paths that lead into the helper: its own entries in /proc, and links that are followed by a
// process's descriptors and not by a path.
TEST_P(FilesTest, NothingOfTheHelpersOwnIsReachedThroughProc) {
  ASSERT_EQ(::symlink("/proc/self/cwd", (root + "/cwd").c_str()), 0);
  ASSERT_EQ(::symlink("/proc/self/map_files", (root + "/maps").c_str()), 0);
  put(root + "/f", "1");
  const std::string other = "/proc/" + std::to_string(::getpid());  // of this test
  const std::string through = "/proc/self/root" + root;
  for (const std::string& path : {std::string("/proc/self/fd"), std::string("/proc/self/map_files"),
                                  std::string("/proc/thread-self/fd"),
                                  std::string("/proc/self/task"), root + "/maps", through}) {
    for (const FileVerb verb : {FileVerb::kList, FileVerb::kStat, FileVerb::kReadTree,
                                FileVerb::kGlob, FileVerb::kGrep}) {
      wire::FileOp request = op(verb, path);
      request.follow = true;
      request.pattern = "*";
      const auto got = perform(request);
      EXPECT_EQ(got.error.reason, "permission_denied") << path << " " << static_cast<int>(verb);
      EXPECT_TRUE(got.infos.empty()) << path;
    }
  }
  EXPECT_EQ(perform(op(FileVerb::kList, root + "/cwd")).error.reason, "permission_denied");
  int refused = 0;
  for (int fd = 0; fd < 16; ++fd) {
    const auto got = perform(op(FileVerb::kRead, "/proc/self/fd/" + std::to_string(fd))).error;
    EXPECT_TRUE(got.reason == "permission_denied" || got.reason == "file_not_found")
        << fd << got.message;
    refused += got.message.find("a link of /proc") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(refused, 0) << "it has some";
  EXPECT_EQ(perform(op(FileVerb::kRead, through + "/f")).error.reason, "permission_denied");
  EXPECT_NE(perform(op(FileVerb::kRead, through + "/f")).error.message.find("a link of /proc"),
            std::string::npos);
  EXPECT_EQ(write(op(FileVerb::kWrite, through + "/f"), "2").error.reason, "permission_denied");
  EXPECT_EQ(perform(op(FileVerb::kMkdir, through + "/d")).error.reason, "permission_denied");
  EXPECT_EQ(perform(op(FileVerb::kRemove, through + "/f")).error.reason, "permission_denied");
  wire::FileOp move = op(FileVerb::kRename, root + "/f");
  move.to = through + "/g";
  EXPECT_EQ(perform(move).error.reason, "permission_denied");
  EXPECT_EQ(content(root + "/f"), "1");
  wire::FileOp look = op(FileVerb::kStat, "/proc/self/exe");
  look.follow = false;
  EXPECT_EQ(perform(look).error.reason, "permission_denied") << "its target is the helper's";
  // Controls: what is to be seen there.
  EXPECT_GT(perform(op(FileVerb::kList, "/proc")).infos.size(), 10U);
  EXPECT_GT(perform(op(FileVerb::kList, other + "/fd")).infos.size(), 2U);
  EXPECT_GT(perform(op(FileVerb::kRead, other + "/status")).data.size(), 10U);
  for (const std::string& path : {std::string("/proc/self"), other + "/exe", root + "/cwd"}) {
    look.path = path;
    EXPECT_EQ(perform(look).infos.size(), 1U) << path;
  }
}

TEST_P(FilesTest, StatsListsMakesRenamesRemoves) {
  wire::FileOp make = op(FileVerb::kMkdir, root + "/x/y");
  make.mode = 0700;
  EXPECT_EQ(perform(make).error.code, 0U);
  put(root + "/x/f", "12345");
  ASSERT_EQ(::symlink("f", (root + "/x/l").c_str()), 0);
  const Answer list = perform(op(FileVerb::kList, root + "/x"));
  ASSERT_EQ(list.infos.size(), 3U);
  EXPECT_EQ(list.infos[0].path, root + "/x/f");
  EXPECT_EQ(list.infos[0].size, 5U);
  EXPECT_EQ(list.infos[1].kind, 3);
  EXPECT_EQ(list.infos[1].target, "f");
  EXPECT_EQ(list.infos[2].kind, 2);
  EXPECT_EQ(list.infos[2].mode, 0700U);
  wire::FileOp stat = op(FileVerb::kStat, root + "/x/l");
  EXPECT_EQ(perform(stat).infos.at(0).kind, 1);
  stat.follow = false;
  EXPECT_EQ(perform(stat).infos.at(0).kind, 3);
  wire::FileOp rename = op(FileVerb::kRename, "f");
  rename.workdir = root + "/x";
  rename.to = "y/g";
  EXPECT_EQ(perform(rename).error.code, 0U);
  EXPECT_EQ(content(root + "/x/y/g"), "12345");
  wire::FileOp remove = op(FileVerb::kRemove, root + "/x");
  EXPECT_EQ(perform(remove).error.reason, "directory_not_empty");
  remove.recursive = true;
  EXPECT_EQ(perform(remove).error.code, 0U);
  EXPECT_FALSE(std::filesystem::exists(root + "/x"));
  EXPECT_EQ(perform(remove).error.code, static_cast<std::uint32_t>(Code::kNotFound));
}

TEST_P(FilesTest, RemovesTreesOfAnyDepth) {
  std::filesystem::create_directories(root + "/outside");
  put(root + "/outside/kept", "x");
  ASSERT_EQ(::mkdir((root + "/deep").c_str(), 0755), 0);
  UniqueFd at(::open((root + "/deep").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  constexpr int kLevels = 300;  // more than what is walked down at once
  for (int level = 0; level < kLevels; ++level) {
    ASSERT_EQ(::mkdirat(at.get(), "d", 0755), 0);
    ASSERT_EQ(::symlinkat((root + "/outside").c_str(), at.get(), "link"), 0);
    ASSERT_EQ(::mkdirat(at.get(), ".moved-up-0", 0755), 0);
    at = UniqueFd(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at);
  }
  at.reset();
  wire::FileOp remove = op(FileVerb::kRemove, root + "/deep");
  remove.recursive = true;
  remove.deadline_ms = 60'000;
  const Answer got = perform(remove);
  EXPECT_EQ(got.error.code, 0U) << got.error.message;
  EXPECT_FALSE(std::filesystem::exists(root + "/deep"));
  EXPECT_EQ(content(root + "/outside/kept"), "x");
}

TEST_P(FilesTest, ReadsTreesDownToTheDepthItNames) {
  ASSERT_EQ(::mkdir((root + "/deep").c_str(), 0755), 0);
  const auto dig = [this](int levels) {
    std::filesystem::path at = root + "/deep";
    for (int level = 0; level < levels; ++level) at /= "d";
    std::filesystem::create_directories(at);
  };
  wire::FileOp read = op(FileVerb::kReadTree, root + "/deep");
  read.deadline_ms = 60'000;
  read.credit = 100 << 20;
  dig(500);
  const Answer whole = perform(read);
  EXPECT_EQ(whole.error.code, 0U) << whole.error.message;
  EXPECT_EQ(whole.infos.size(), 501U);
  dig(502);
  const Answer cut = perform(read);
  EXPECT_EQ(cut.error.code, 0U) << cut.error.message;
  ASSERT_EQ(cut.infos.size(), 502U);
  EXPECT_EQ(cut.infos[500].kind, 2);  // a directory
  EXPECT_EQ(cut.infos[501].kind, 4) << "left out, and named";
}

TEST_P(FilesTest, GlobsWithoutFollowingLinks) {
  std::filesystem::create_directories(root + "/a/b");
  put(root + "/a/one.py", "");
  put(root + "/a/b/two.py", "");
  put(root + "/a/.hidden.py", "");
  ASSERT_EQ(::symlink("..", (root + "/a/b/up").c_str()), 0);
  wire::FileOp glob = op(FileVerb::kGlob, root);
  glob.pattern = "**/*.py";
  const Answer got = perform(glob);
  ASSERT_EQ(got.infos.size(), 2U);
  EXPECT_EQ(got.infos[0].path, root + "/a/b/two.py");
  EXPECT_EQ(got.infos[1].path, root + "/a/one.py");
  EXPECT_FALSE(got.truncated);
  glob.limit = 1;
  EXPECT_TRUE(perform(glob).truncated);
  glob.path = root + "/none";
  EXPECT_EQ(perform(glob).error.code, static_cast<std::uint32_t>(Code::kNotFound));
}

TEST_P(FilesTest, GrepsTextAndSkipsBinaries) {
  std::filesystem::create_directories(root + "/a");
  put(root + "/a/x.txt", "one\nneedle here\nthree\nlast needle");
  put(root + "/a/y.md", "needle \xff\xfe\r\n");
  put(root + "/a/bin", std::string("needle\0", 7));
  ASSERT_EQ(::mkfifo((root + "/a/fifo").c_str(), 0666), 0);
  wire::FileOp grep = op(FileVerb::kGrep, root);
  grep.pattern = "needle";
  const Answer got = perform(grep);
  ASSERT_EQ(got.matches.size(), 3U);
  EXPECT_EQ(got.matches[0].path, root + "/a/x.txt");
  EXPECT_EQ(got.matches[0].line, 2U);
  EXPECT_EQ(got.matches[0].text, "needle here");
  EXPECT_EQ(got.matches[1].line, 4U);
  EXPECT_EQ(got.matches[2].text, "needle \xef\xbf\xbd\xef\xbf\xbd");
  grep.file_glob = "*.md";
  EXPECT_EQ(perform(grep).matches.size(), 1U);
  grep.file_glob = "a/*.txt";
  EXPECT_EQ(perform(grep).matches.size(), 2U);
  grep.limit = 1;
  EXPECT_TRUE(perform(grep).truncated);
}

TEST_P(FilesTest, TreesKeepModesTimesAndLinks) {
  std::filesystem::create_directories(root + "/t/sub");
  put(root + "/t/sub/f", std::string(200'000, 'z'));
  put(root + "/t/empty", "");
  ::chmod((root + "/t/sub/f").c_str(), 0755);
  ASSERT_EQ(::symlink("sub/f", (root + "/t/l").c_str()), 0);
  // Relay entry by entry, as the daemon copies a tree.
  const std::uint32_t from = client.ask(Type::kFileOp, op(FileVerb::kReadTree, root + "/t"));
  const std::uint32_t to = client.ask(Type::kFileOp, op(FileVerb::kWriteTree, root + "/copy/deep"));
  std::uint64_t allowed = 0;
  const auto take = [&](std::uint32_t channel, std::uint64_t size) {
    while (allowed < size)
      allowed += wire::decode<wire::Credit>(client.next(channel).payload).value().bytes;
    allowed -= size;
  };
  for (;;) {
    const wire::Frame frame = client.next(from);
    ASSERT_NE(type_of(frame), Type::kError) << error_of(frame).message;
    if (type_of(frame) == Type::kData) {
      const std::uint64_t size = wire::decode_data(frame.payload).value().bytes.size();
      client.send(Type::kCredit, from, wire::Credit{size});
      take(to, size);
    } else if (type_of(frame) == Type::kFileInfo) {
      client.send(Type::kCredit, from, wire::Credit{frame.payload.size()});
      take(to, frame.payload.size());
    }
    client.send(type_of(frame), to, frame.payload);
    if (type_of(frame) == Type::kEof) break;
  }
  EXPECT_EQ(collect(to).error.code, 0U);
  EXPECT_TRUE(content(root + "/copy/deep/sub/f") == std::string(200'000, 'z'));
  EXPECT_EQ(std::filesystem::read_symlink(root + "/copy/deep/l"), "sub/f");
  struct stat one{}, two{};
  ::stat((root + "/t/sub/f").c_str(), &one);
  ::stat((root + "/copy/deep/sub/f").c_str(), &two);
  EXPECT_EQ(one.st_mode, two.st_mode);
  EXPECT_EQ(one.st_mtim.tv_nsec, two.st_mtim.tv_nsec);
  EXPECT_TRUE(std::filesystem::exists(root + "/copy/deep/empty"));
}

TEST_P(FilesTest, ManyEntriesWaitForCreditNotInMemory) {
  std::filesystem::create_directory(root + "/many");
  for (int i = 0; i < 3000; ++i)
    put(root + "/many/" + std::string(100, 'n') + std::to_string(i), "");
  wire::FileOp read = op(FileVerb::kReadTree, root + "/many");
  read.credit = 20'000;
  const std::uint32_t from = client.ask(Type::kFileOp, read);
  std::uint64_t bytes = 0;
  int entries = 0;
  while (bytes < 18'000) {
    bytes += client.next(from).payload.size();
    ++entries;
  }
  client.run(shell(
      "a", "sleep 0.6"));  // longer than the deadline: it is the daemon's turn, and nothing ends
  for (;;) {
    client.send(Type::kCredit, from, wire::Credit{bytes});
    const wire::Frame frame = client.next(from);
    ASSERT_NE(type_of(frame), Type::kError) << error_of(frame).message;
    if (type_of(frame) == Type::kEof) break;
    bytes = frame.payload.size();
    ++entries;
  }
  EXPECT_EQ(entries, 3001);
}

TEST_P(FilesTest, ATreeNeverLeavesItsRoot) {
  for (const char* path : {"../x", "/etc/x", "a/../../x", "a//b"}) {
    const std::uint32_t to = client.ask(Type::kFileOp, op(FileVerb::kWriteTree, root + "/r"));
    wire::FileInfoMsg entry;
    entry.path = path;
    EXPECT_EQ(type_of(client.next(to)), Type::kCredit);
    client.send(Type::kFileInfo, to, entry);
    EXPECT_EQ(collect(to).error.reason, "malformed_request") << path;
  }
  // Nor through a link that the tree itself brought.
  const std::uint32_t to = client.ask(Type::kFileOp, op(FileVerb::kWriteTree, root + "/r"));
  EXPECT_EQ(type_of(client.next(to)), Type::kCredit);
  wire::FileInfoMsg link;
  link.path = "l";
  link.kind = 3;
  link.target = "/tmp";
  client.send(Type::kFileInfo, to, link);
  wire::FileInfoMsg file;
  file.path = "l/cay-escaped";
  client.send(Type::kFileInfo, to, file);
  EXPECT_EQ(collect(to).error.reason, "not_a_directory");
  EXPECT_FALSE(std::filesystem::exists("/tmp/cay-escaped"));
}

TEST_P(FilesTest, ADiskThatIsFullIsThatError) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount a small tmpfs";
  const std::string small = root + "/small";
  std::filesystem::create_directory(small);
  ASSERT_EQ(::mount("cay-test", small.c_str(), "tmpfs", 0, "size=1m"), 0);
  const Answer got = write(op(FileVerb::kWrite, small + "/f"), std::string(3'000'000, 'x'));
  EXPECT_EQ(got.error.reason, "disk_full");
  EXPECT_EQ(got.error.code, static_cast<std::uint32_t>(Code::kExhausted));
  EXPECT_TRUE(std::filesystem::is_empty(small));
  EXPECT_EQ(::umount(small.c_str()), 0);
}

TEST_P(FilesTest, TimesBeyondNanosecondsStopAtTheirEnd) {
  const std::string path = root + "/future";
  std::ofstream(path) << "x";
  const timespec times[2] = {{0, UTIME_OMIT}, {11'000'000'000, 0}};  // the year 2318
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_EQ(perform(op(FileVerb::kStat, path)).infos.at(0).mtime_ns,
            std::numeric_limits<std::int64_t>::max());
}

TEST_P(FilesTest, UnknownUsersAndDirectoriesAreTyped) {
  wire::FileOp request = op(FileVerb::kStat, "x");
  request.user = "no-such-user";
  EXPECT_EQ(perform(request).error.reason, "bad_user");
  request.user = "";
  request.workdir = "/no/such";
  EXPECT_EQ(perform(request).error.reason, "bad_cwd");
}

// The pid of the keeper's newest child that is not in `known`.
pid_t helper_of(pid_t keeper) {
  std::ifstream children("/proc/" + std::to_string(keeper) + "/task/" + std::to_string(keeper) +
                         "/children");
  pid_t pid = 0, last = 0;
  while (children >> pid) last = pid;
  return last;
}

TEST_P(FilesTest, AHelperThatIsStoppedOrKilledDelaysNobody) {
  put(root + "/f", std::string(2'000'000, 'x'));
  wire::FileOp read = op(FileVerb::kRead, root + "/f");
  read.credit = 1;
  for (const int signal : {SIGSTOP, SIGKILL}) {
    const std::uint32_t channel = client.ask(Type::kFileOp, read);
    EXPECT_EQ(type_of(client.next(channel)), Type::kFileInfo);
    EXPECT_EQ(type_of(client.next(channel)), Type::kData);
    const pid_t helper = helper_of(keeper.pid());
    ASSERT_GT(helper, 0);
    ASSERT_EQ(::kill(helper, signal), 0);
    EXPECT_EQ(client.run(shell("a" + std::to_string(signal), "echo hi")).out, "hi\n");
    client.send(Type::kCredit, channel, wire::Credit{1 << 20});
    EXPECT_EQ(collect(channel).error.reason, "file_helper_died");
  }
}

TEST_P(FilesTest, ASlowDaemonIsNotTheHelpersFault) {
  put(root + "/f", std::string(500'000, 'x'));
  wire::FileOp read = op(FileVerb::kRead, root + "/f");
  read.credit = 1;
  const std::uint32_t channel = client.ask(Type::kFileOp, read);
  client.run(shell("a", "sleep 1"));  // longer than the deadline without progress
  client.send(Type::kCredit, channel, wire::Credit{1 << 20});
  EXPECT_EQ(collect(channel).data.size(), 500'000U);
}

TEST_P(FilesTest, ManyAtOnceQueue) {
  put(root + "/f", "hello");
  wire::FileOp read = op(FileVerb::kRead, root + "/f");
  read.deadline_ms = 20'000;  // 64 helpers at once on few processors
  std::vector<std::uint32_t> channels;
  for (int i = 0; i < 300; ++i) channels.push_back(client.ask(Type::kFileOp, read));
  for (const std::uint32_t one : channels) {
    const Answer answer = collect(one);
    EXPECT_EQ(answer.data, "hello") << answer.error.reason << ": " << answer.error.message;
  }
}

}  // namespace
}  // namespace cay::keeper::testing
