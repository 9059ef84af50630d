// The keeper's pure and small parts.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "base/testing/temp_dir.h"
#include "keeper/glob_pattern.h"
#include "keeper/guest_user.h"
#include "keeper/loop.h"
#include "keeper/spool_stream.h"
#include "keeper/tape.h"
#include "keeper/text.h"
#include "wire/spool_record.h"

namespace cay::keeper {
namespace {

using cay::testing::TempDir;

TEST(GlobPatternTest, MatchesAsAShellDoes) {
  struct Case {
    const char* pattern;
    std::vector<std::string> path;
    bool matches;
  };
  const Case cases[] = {
      {"*.py", {"a.py"}, true},
      {"*.py", {"d", "a.py"}, false},
      {"**/*.py", {"a.py"}, true},
      {"**/*.py", {"d", "e", "a.py"}, true},
      {"d/**", {"d", "e", "f"}, true},
      {"d/**/f", {"d", "f"}, true},
      {"?at", {"cat"}, true},
      {"?at", {"at"}, false},
      {"[a-c]x", {"bx"}, true},
      {"[!a-c]x", {"bx"}, false},
      {"[!a-c]x", {"dx"}, true},
      {"[]]x", {"]x"}, true},
      {"a[", {"a["}, true},
      {"*", {".hidden"}, false},
      {".*", {".hidden"}, true},
      {"**/x", {".git", "x"}, false},
      {".git/**/x", {".git", "o", "x"}, true},
      {"\\*", {"*"}, true},
      {"\\*", {"a"}, false},
      {"./a", {"a"}, true},
      {"a*b*c", {"aXbYc"}, true},
      {"a*b*c", {"aXbY"}, false},
      {"", {"a"}, false},
      {"**", {"a", "b"}, true},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(GlobPattern(one.pattern).matches(one.path), one.matches)
        << one.pattern << " on " << one.path.back();
  }
  // Never exponential.
  EXPECT_FALSE(matches_name("*a*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
  EXPECT_FALSE(GlobPattern("src/*.c").may_contain({"doc"}));
  EXPECT_TRUE(GlobPattern("src/*.c").may_contain({"src"}));
  EXPECT_FALSE(GlobPattern("src/*.c").may_contain({"src", "deep"}));
}

TEST(TextTest, AnythingBecomesUtf8) {
  EXPECT_EQ(valid_utf8("plain \xc3\xa9 \xf0\x9f\x98\x80", 100), "plain \xc3\xa9 \xf0\x9f\x98\x80");
  EXPECT_EQ(valid_utf8("\xff", 100), "\xef\xbf\xbd");
  EXPECT_EQ(valid_utf8("\xc0\x80", 100), "\xef\xbf\xbd\xef\xbf\xbd");  // overlong
  EXPECT_EQ(valid_utf8("\xed\xa0\x80", 100),
            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // a surrogate
  EXPECT_EQ(valid_utf8("ab\xc3\xa9", 3), "ab");       // never half a character
}

TEST(GuestUserTest, ReadsTheGuestsOwnFiles) {
  const TempDir dir;
  const std::string passwd = dir.path() + "/passwd", group = dir.path() + "/group";
  std::ofstream(passwd)
      << "root:x:0:0:root:/root:/bin/bash\nbroken\nuser:x:1000:1000::/home/user:/bin/zsh\n";
  std::ofstream(group) << "root:x:0:\nuser:x:1000:\nsudo:x:27:other,user\nwheel:x:10:users\n";
  GuestUser user;
  ASSERT_TRUE(resolve_user("user", user, passwd.c_str(), group.c_str()));
  EXPECT_EQ(user.uid, 1000U);
  EXPECT_STREQ(user.home, "/home/user");
  EXPECT_STREQ(user.shell, "/bin/zsh");
  ASSERT_EQ(user.group_count, 2);
  EXPECT_EQ(user.groups[1], 27U);
  ASSERT_TRUE(resolve_user("", user, passwd.c_str(), group.c_str()));
  EXPECT_EQ(user.uid, 0U);
  ASSERT_TRUE(resolve_user("1000:sudo", user, passwd.c_str(), group.c_str()));
  EXPECT_EQ(user.gid, 27U);
  EXPECT_STREQ(user.name, "user");
  ASSERT_TRUE(resolve_user("4242", user, passwd.c_str(), group.c_str()));
  EXPECT_STREQ(user.home, "/");
  EXPECT_FALSE(resolve_user("nobody-here", user, passwd.c_str(), group.c_str()));
  EXPECT_FALSE(resolve_user("user:nogroup-here", user, passwd.c_str(), group.c_str()));
  EXPECT_FALSE(resolve_user(std::string(5000, 'x').c_str(), user, passwd.c_str(), group.c_str()));
  EXPECT_FALSE(resolve_user("99999999999", user, passwd.c_str(), group.c_str()));
}

TEST(GuestUserTest, NastyFilesAreNotWaitedFor) {
  const TempDir dir;
  const std::string fifo = dir.path() + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0666), 0);
  GuestUser user;
  EXPECT_FALSE(resolve_user("user", user, fifo.c_str(), fifo.c_str()));
  EXPECT_TRUE(resolve_user("root", user, fifo.c_str(), "/dev/zero"));
  EXPECT_TRUE(resolve_user("", user, "/none", "/none"));
  EXPECT_STREQ(user.home, "/root");
}

// Every way of cutting the same bytes into appends gives the same stream.
TEST(SpoolStreamTest, HeadAndRingHoldTheRightBytes) {
  std::string all;
  for (int i = 0; all.size() < 100'000; ++i) all += std::to_string(i) + ",";
  for (const std::size_t step :
       {std::size_t{1}, std::size_t{777}, std::size_t{4096}, std::size_t{50'000}}) {
    const TempDir temp;
    const UniqueFd dir = temp.open();
    SpoolStream stream(dir.get(), "out", 10'000);
    for (std::size_t at = 0; at < all.size(); at += step)
      stream.append(std::string_view(all).substr(at, step));
    EXPECT_EQ(stream.bytes(), all.size());
    EXPECT_EQ(stream.extent().gap_begin, 5'000U);
    EXPECT_EQ(stream.extent().gap_end, all.size() - 5'000);
    std::string got;
    std::array<char, 997> buffer{};
    for (std::uint64_t offset = 0;;) {
      const auto piece = stream.read(offset, buffer);
      if (piece.kind == wire::SpoolPiece::Kind::kEnd) break;
      if (piece.kind == wire::SpoolPiece::Kind::kData)
        got.append(buffer.data(), static_cast<std::size_t>(piece.length));
      offset += piece.length;
    }
    EXPECT_TRUE(got == all.substr(0, 5'000) + all.substr(all.size() - 5'000)) << step;
  }
}

TEST(SpoolStreamTest, AShortDiskIsLeftAlone) {
  const TempDir temp;
  const UniqueFd dir = temp.open();
  const std::string block(64 * 1024, 'x');
  struct statvfs disk{};
  ASSERT_EQ(::fstatvfs(dir.get(), &disk), 0);
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const auto gap_of = [&](const char* name, std::uint64_t reserve) {
    SpoolStream stream(dir.get(), name, std::uint64_t{1} << 30, reserve);
    for (int i = 0; i < 64; ++i) stream.append(block);
    EXPECT_EQ(stream.bytes(), 64 * block.size());
    return std::pair(stream.extent().gap_begin, stream.bytes() - stream.extent().gap_end);
  };
  const auto kept = [](std::uint64_t first_and_last) {
    return std::pair(first_and_last, first_and_last);
  };
  EXPECT_EQ(gap_of("short", free / 2 * 3), kept(128 * 1024))
      << "an ordinary output is kept: its first half and the last";
  EXPECT_EQ(gap_of("used up", std::uint64_t{1} << 62), kept(2048))
      << "half of the reserve is no output's";
  EXPECT_EQ(gap_of("roomy", 1).first, 0U);
}

TEST(TapeTest, LongArgumentsLiveOnDisk) {
  const TempDir temp;
  const UniqueFd dir = temp.open();
  wire::CommandMsg message;
  message.command_id = "a";
  message.argv = {std::string(100'000, 'x'), "y"};
  auto tape = Tape::create(dir.get(), message, 1 << 20);
  ASSERT_TRUE(tape);
  EXPECT_TRUE((*tape)->about.argv.empty());
  EXPECT_EQ((*tape)->message().argv, message.argv);
  (*tape)->out.append("hello");
  (*tape)->mark_ended();
  ASSERT_TRUE((*tape)->save());
  auto again = Tape::load(dir.get(), "a");
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->message().argv, message.argv);
  EXPECT_EQ((*again)->out.bytes(), 5U);
  Tape::erase(dir.get(), "a");
  EXPECT_FALSE(Tape::load(dir.get(), "a"));
}

TEST(TapeTest, ASpareDirectoryBecomesACommandsAtOnceWithItsRecord) {
  const TempDir temp;
  const UniqueFd dir = temp.open();
  SpareDirectory spare(dir.get());
  wire::CommandMsg message;
  for (const char* id : {"a", "b"}) {
    spare.prepare();
    EXPECT_TRUE(std::filesystem::exists(temp.path() + "/.spare/record"));
    EXPECT_FALSE(Tape::ids(dir.get()).contains(".spare"));
    message.command_id = id;
    auto tape = Tape::create(dir.get(), message, 1 << 20, 0, nullptr, &spare);
    ASSERT_TRUE(tape);
    EXPECT_FALSE(std::filesystem::exists(temp.path() + "/.spare"));
    (*tape)->out.append("hello");
    (*tape)->mark_ended();
    ASSERT_TRUE((*tape)->save());
    auto again = Tape::load(dir.get(), id);
    ASSERT_TRUE(again);
    EXPECT_EQ((*again)->out.bytes(), 5U);
  }
  EXPECT_EQ(Tape::ids(dir.get()), (std::set<std::string>{"a", "b"}));
}

// A keeper that was killed left both: a directory without a record, and a spare with half of one.
TEST(TapeTest, ATakenNameAndALeftSpareAreNoObstacle) {
  const TempDir temp;
  const UniqueFd dir = temp.open();
  wire::CommandMsg message;
  message.command_id = "a";
  std::filesystem::create_directories(temp.path() + "/a");
  std::filesystem::create_directories(temp.path() + "/.spare");
  std::ofstream(temp.path() + "/.spare/record") << "half";
  SpareDirectory spare(dir.get());
  spare.prepare();
  ASSERT_TRUE(Tape::create(dir.get(), message, 1 << 20, 0, nullptr, &spare));
  EXPECT_TRUE(Tape::recall(dir.get(), "a", "boot"));
  spare.prepare();
  message.command_id = "b";
  ASSERT_TRUE(Tape::create(dir.get(), message, 1 << 20, 0, nullptr, &spare));
  EXPECT_EQ(Tape::recall(dir.get(), "b", "boot")->command_id, "b");
}

TEST(TapeTest, ACommandThatCannotBeLookedAtIsLostAndNotForgotten) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
  const TempDir temp;
  const UniqueFd dir = temp.open();
  wire::CommandMsg message;
  message.command_id = "a";
  ASSERT_TRUE(Tape::create(dir.get(), message, 1 << 20));
  ASSERT_EQ(::fchmod(dir.get(), 0755), 0);
  ASSERT_EQ(::fchmodat(dir.get(), "a", 0700, 0), 0);
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::seteuid(kNobody), 0);
  const auto there = Tape::recall(dir.get(), "a", "boot");
  const auto not_there = Tape::recall(dir.get(), "b", "boot");
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_TRUE(there);
  EXPECT_FALSE(wire::is_open(*there));
  EXPECT_EQ(there->command_id, "a");
  EXPECT_FALSE(not_there);
}

TEST(TapeTest, IdsAreNamesOfFiles) {
  for (const char* good : {"a", "0197-f0", "A_b.c", "x..y"})
    EXPECT_TRUE(valid_command_id(good)) << good;
  for (const char* bad : {"", ".", "..", ".a", "a/b", "a b", "a\n"})
    EXPECT_FALSE(valid_command_id(bad)) << bad;
  EXPECT_FALSE(valid_command_id(std::string(129, 'a')));
}

TEST(LoopTest, CallbacksMayRemoveAnything) {
  Loop loop;
  std::string order;
  Timer never;
  Timer first = loop.after(0, [&] {
    order += "a";
    never.reset();
    loop.defer([&] { order += "b"; });
  });
  never = loop.after(
      1, [&] { order += "never"; });  // after it, however long that took: due with it, or later
  Timer last = loop.after(5, [&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(order, "ab");
}

}  // namespace
}  // namespace cay::keeper
