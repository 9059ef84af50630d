// File helpers that wait for another operation: who they work for, when they leave, and what the
// guest can do to them.
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include "base/error.h"
#include "keeper/helper_session.h"
#include "keeper/testing/local_keeper.h"
#include "wire/keeper_features.h"

namespace cay::keeper::testing {
namespace {

using wire::FileVerb;
using wire::Type;

std::set<pid_t> children_of(pid_t process) {
  const std::string number = std::to_string(process);
  std::ifstream list("/proc/" + number + "/task/" + number + "/children");
  std::set<pid_t> out;
  for (pid_t pid = 0; list >> pid;) out.insert(pid);
  return out;
}

char state_of(pid_t process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(stat, text);
  const auto name = text.rfind(") ");
  return name == std::string::npos ? '\0' : text[name + 2];
}

class WaitingHelpersTest : public ::testing::Test {
 protected:
  static wire::FileOp op(FileVerb verb, std::string path) {
    wire::FileOp out;
    out.verb = static_cast<std::uint8_t>(verb);
    out.path = std::move(path);
    out.credit = 256 * 1024;
    return out;
  }
  // Returns the reason of its error, "" for success.
  std::string finish(std::uint32_t channel) {
    for (;;) {
      const wire::Frame frame = client.next(channel);
      const Type type = type_of(frame);
      if (type == Type::kError) return error_of(frame).reason;
      if (type == Type::kOk || type == Type::kEof) return {};
      if (type == Type::kFileInfo) info = wire::decode<wire::FileInfoMsg>(frame.payload).value();
      if (type == Type::kData) data += wire::decode_data(frame.payload).value().bytes;
    }
  }
  std::string read(const std::string& path, const std::string& user = "") {
    wire::FileOp request = op(FileVerb::kRead, path);
    request.user = user;
    data.clear();
    return finish(client.ask(Type::kFileOp, request));
  }
  // All of it in one go, as far as the credit reaches that a keeper gives in advance.
  std::string write(const std::string& path, std::string_view bytes) {
    const std::uint32_t channel = client.ask(Type::kFileOp, op(FileVerb::kWrite, path));
    wire::Data piece;
    piece.bytes = bytes;
    client.send(Type::kData, channel, wire::encode_data(piece));
    client.send(Type::kEof, channel, wire::Eof{});
    return finish(channel);
  }
  // The only helper, once the others are gone.
  pid_t waiting() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    auto children = children_of(keeper.pid());
    while (children.size() != 1 && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      children = children_of(keeper.pid());
    }
    EXPECT_EQ(children.size(), 1U);
    return children.empty() ? 0 : *children.begin();
  }
  void await_end(pid_t process, std::chrono::milliseconds limit) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (children_of(keeper.pid()).contains(process)) {
      ASSERT_LT(std::chrono::steady_clock::now(), until);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  void await_state(pid_t process, char state) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (state_of(process) != state) {
      ASSERT_LT(std::chrono::steady_clock::now(), until);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  static std::string content(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  LocalKeeper keeper{Transport::kUnix, [](Context& context) { context.file_deadline_ms = 2000; }};
  Client client = keeper.client();
  std::string file = keeper.home() + "/f";
  std::string data;
  wire::FileInfoMsg info;
};

TEST_F(WaitingHelpersTest, OneHelperDoesOneAfterTheOther) {
  ASSERT_EQ(write(file, "first"), "");
  const pid_t helper = waiting();
  for (int i = 0; i < 50; ++i) {
    const std::string text = "round " + std::to_string(i);
    ASSERT_EQ(write(file, text), "");
    EXPECT_EQ(info.size, text.size());
    ASSERT_EQ(read(file), "");
    EXPECT_EQ(data, text);
    EXPECT_EQ(read(keeper.home() + "/none"), "file_not_found");
  }
  EXPECT_EQ(waiting(), helper);
  // It keeps nothing of them: no file, no directory but the root.
  std::size_t open = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(helper) + "/fd")) {
    ++open;
    EXPECT_TRUE(std::filesystem::read_symlink(entry).string().starts_with("socket:")) << entry;
  }
  EXPECT_EQ(open, 1U);
  EXPECT_EQ(std::filesystem::read_symlink("/proc/" + std::to_string(helper) + "/cwd"), "/");
}

TEST_F(WaitingHelpersTest, AnEmptyFileAndOneLargerThanTheAdvance) {
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t channel = client.ask(Type::kFileOp, op(FileVerb::kWrite, file));
    client.send(Type::kEof, channel, wire::Eof{});
    ASSERT_EQ(finish(channel), "");
    EXPECT_EQ(content(file), "");
    const std::string bytes(wire::kUploadAhead, static_cast<char>('a' + i));
    ASSERT_EQ(write(file, bytes), "");
    EXPECT_TRUE(content(file) == bytes);
  }
  // More than the advance needs credit, which a helper that waits may have given by then.
  const std::string more(wire::kUploadAhead + 1, 'z');
  const std::string reason = write(file, more);
  if (reason.empty()) {
    EXPECT_TRUE(content(file) == more);
  } else {
    EXPECT_EQ(reason, "upload_overrun");
  }
}

TEST_F(WaitingHelpersTest, OneThatWasKilledIsReplaced) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(write(file, "text"), "");
    const pid_t helper = waiting();
    ASSERT_EQ(::kill(helper, SIGKILL), 0);
    if (i % 2 == 0) await_end(helper, std::chrono::seconds(10));
    ASSERT_EQ(read(file), "") << i;
    EXPECT_EQ(data, "text");
    EXPECT_NE(waiting(), helper);
  }
}

TEST_F(WaitingHelpersTest, OneThatIsStoppedIsReplacedAndDoesNothingLater) {
  ASSERT_EQ(write(file, "old"), "");
  const pid_t helper = waiting();
  ASSERT_EQ(::kill(helper, SIGSTOP), 0);
  await_state(helper, 'T');
  ASSERT_EQ(write(file, "new"), "");
  EXPECT_EQ(content(file), "new");
  ASSERT_EQ(::kill(helper, SIGCONT), -1) << "it was ended";
  // A rename is done once, or not at all.
  const pid_t second = waiting();
  ASSERT_EQ(::kill(second, SIGSTOP), 0);
  await_state(second, 'T');
  wire::FileOp rename = op(FileVerb::kRename, file);
  rename.to = file + "2";
  EXPECT_EQ(finish(client.ask(Type::kFileOp, rename)), "");
  EXPECT_EQ(content(file + "2"), "new");
}

TEST_F(WaitingHelpersTest, OneThatStandsStillIsSeenBesideMuchOtherWork) {
  std::ofstream(file) << std::string(2'000'000, 'x');
  wire::FileOp slow = op(FileVerb::kRead, file);
  slow.credit = 1;
  const std::uint32_t channel = client.ask(Type::kFileOp, slow);
  EXPECT_EQ(type_of(client.next(channel)), Type::kFileInfo);
  EXPECT_EQ(type_of(client.next(channel)), Type::kData);
  ASSERT_EQ(::kill(waiting(), SIGSTOP), 0);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!client.has(channel)) {
    ASSERT_LT(std::chrono::steady_clock::now(), until);
    ASSERT_EQ(read(keeper.home() + "/none"), "file_not_found");
  }
  EXPECT_EQ(finish(channel), "file_helper_died");
}

// A change that a killed helper may have made is not made again.
TEST_F(WaitingHelpersTest, NothingIsDoneTwice) {
  std::size_t moved = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string from = keeper.home() + "/from" + std::to_string(i);
    std::ofstream(from) << i;
    ASSERT_EQ(write(file, "x"), "");
    const pid_t helper = waiting();
    wire::FileOp rename = op(FileVerb::kRename, from);
    rename.to = keeper.home() + "/to" + std::to_string(i);
    const std::uint32_t channel = client.ask(Type::kFileOp, rename);
    for (int turns = i * 20; turns > 0; --turns) static_cast<void>(::getppid());
    ::kill(helper, SIGKILL);
    const std::string reason = finish(channel);
    if (reason.empty()) {
      EXPECT_EQ(content(rename.to), std::to_string(i));
      ++moved;
    } else {
      EXPECT_EQ(reason, "file_helper_died") << i;
    }
    EXPECT_NE(std::filesystem::exists(from), std::filesystem::exists(rename.to));
  }
  EXPECT_GT(moved, 0U);
}

TEST_F(WaitingHelpersTest, ItWorksForItsUserAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to be another user";
  ASSERT_EQ(write(file, "secret"), "");
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  const pid_t roots = waiting();
  EXPECT_EQ(read(file, "1000"), "permission_denied");
  EXPECT_EQ(children_of(keeper.pid()).size(), 2U);
  EXPECT_EQ(read(file), "");
  EXPECT_TRUE(children_of(keeper.pid()).contains(roots));
  // A third user: the one that has waited longest leaves.
  EXPECT_EQ(read(file, "1001"), "permission_denied");
  await_end(roots, std::chrono::seconds(10));
}

TEST_F(WaitingHelpersTest, ItLeavesAfterAWhile) {
  ASSERT_EQ(write(file, "x"), "");
  const auto begin = std::chrono::steady_clock::now();
  await_end(waiting(), std::chrono::seconds(20));
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  EXPECT_EQ(read(file), "");
}

TEST_F(WaitingHelpersTest, ItLeavesWhenTheSandboxIsPausedAndWhenTheDaemonDoes) {
  ASSERT_EQ(write(file, "x"), "");
  const pid_t first = waiting();
  client.call(Type::kPause, wire::Empty{});
  await_end(first, std::chrono::milliseconds(2500));
  client.call(Type::kResume, wire::Empty{});
  ASSERT_EQ(read(file), "");
  const pid_t second = waiting();
  client = keeper.client();
  await_end(second, std::chrono::milliseconds(2500));
  EXPECT_EQ(read(file), "");
}

// A process of the same user can do this to it.
TEST_F(WaitingHelpersTest, ALimitThatWasChangedMeanwhileHurtsNothing) {
  ASSERT_EQ(write(file, "x"), "");
  for (const auto& [what, value] : {std::pair{RLIMIT_FSIZE, 10UL}, {RLIMIT_NOFILE, 0UL}}) {
    const pid_t helper = waiting();
    const rlimit limit{value, value};
    ASSERT_EQ(::prlimit(helper, what, &limit, nullptr), 0);
    const std::string bytes(5000, 'y');
    EXPECT_EQ(write(file, bytes), "");
    EXPECT_TRUE(content(file) == bytes);
    await_end(helper, std::chrono::seconds(10));
  }
}

// Whether `act` is true in a process of its own.
bool in_child(const std::function<bool()>& act) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(act() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(HelperSessionTest, OneThatGrewIsLarge) {
  EXPECT_TRUE(in_child([] {
    const HelperSession session("");
    if (session.is_large()) return false;
    const std::string content(64 << 20, 'x');
    return session.is_large() && content.back() == 'x';
  }));
}

TEST(HelperSessionTest, HoldsUntilAnIdOrALimitIsAnother) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to take the ids of its user";
  const auto as_user = [] {
    const gid_t group = 4242;
    return ::setgroups(1, &group) == 0 && ::setresgid(group, group, group) == 0 &&
           ::setresuid(1000, 1000, 1000) == 0;
  };
  EXPECT_TRUE(in_child([&] { return as_user() && HelperSession("1000:4242").holds(); }));
  EXPECT_FALSE(in_child([&] { return as_user() && HelperSession("1000:4243").holds(); }));
  EXPECT_FALSE(in_child([&] { return as_user() && HelperSession("").holds(); }));
  EXPECT_FALSE(in_child([&] { return as_user() && HelperSession("no-such-user").holds(); }));
  EXPECT_FALSE(in_child([&] {
    if (!as_user()) return false;
    const HelperSession session("1000:4242");
    const rlimit none{0, 0};
    return ::setrlimit(RLIMIT_FSIZE, &none) == 0 && session.holds();
  }));
}

}  // namespace
}  // namespace cay::keeper::testing
