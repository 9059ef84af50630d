// The keeper with a real sandbox: entering, ends that the kernel reports, and a hostile root
// inside.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "base/testing/temp_dir.h"
#include "keeper/command_state.h"
#include "keeper/testing/local_keeper.h"
#include "keeper/testing/local_sandbox.h"

namespace cay::keeper::testing {
namespace {

using wire::Type;

CommandState state(const wire::CommandMsg& message) {
  return static_cast<CommandState>(message.state);
}

class SandboxedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!LocalSandbox::possible(why)) GTEST_SKIP() << why;
    sandbox = std::make_unique<LocalSandbox>(64ULL << 20);
    keeper = std::make_unique<LocalKeeper>(
        Transport::kUnix,
        [this](Context& context) {
          ASSERT_EQ(::fchown(context.spool_fd, sandbox->keeper_uid(), 0), 0);
          context.file_deadline_ms = 3000;
          const uid_t root_inside = sandbox->first_guest_uid();
          ASSERT_EQ(::chown(layer_root.path().c_str(), root_inside, root_inside), 0);
          context.bare_root_fd = layer_fd.get();
        },
        [this](Context& context) { sandbox->enter(context); });
    client = std::make_unique<Client>(keeper->client());
  }
  void TearDown() override {
    client.reset();
    keeper.reset();
    sandbox.reset();
  }
  // Eats more memory than the sandbox has.
  static std::string hog() { return "head -c 200m /dev/zero | tail -c 150m > /dev/null"; }

  const cay::testing::TempDir layer_root{0755};
  const UniqueFd layer_fd = layer_root.open();
  std::unique_ptr<LocalSandbox> sandbox;
  std::unique_ptr<LocalKeeper> keeper;
  std::unique_ptr<Client> client;
};

TEST_F(SandboxedTest, RunsInsideAsItsUserAndIsTheKeepersChild) {
  const Output got = client->run(shell(
      "a", "id -u; echo $$; cat /proc/1/comm >/dev/null; ls /proc | grep -c '^[0-9]'; exit 5"));
  EXPECT_TRUE(got.out.starts_with("0\n")) << got.out;
  EXPECT_EQ(got.end.exit_code, 5);
  EXPECT_LT(got.end.pid, 50);
  EXPECT_NE(got.out.find("\n" + std::to_string(got.end.pid) + "\n"), std::string::npos) << got.out;
}

TEST_F(SandboxedTest, MemoryEatenByTheLeaderIsOutOfMemory) {
  const Output got = client->run(command("a", {"python3", "-c", "x = bytearray(200 << 20)"}));
  EXPECT_EQ(state(got.end), CommandState::kOomKilled) << got.err;
  EXPECT_EQ(got.end.signal, SIGKILL);
  EXPECT_GE(got.end.oom_kills, 1U);
}

TEST_F(SandboxedTest, AChildsEndForMemoryIsNotTheLeaders) {
  const Output child = client->run(shell("a", "python3 -c 'x = bytearray(200 << 20)'; exit 0"));
  EXPECT_EQ(state(child.end), CommandState::kExited);
  EXPECT_EQ(child.end.exit_code, 0);
  EXPECT_EQ(child.end.oom_kills, 1U);
  const Output same = client->run(shell("b", "python3 -c 'x = bytearray(200 << 20)'; exit 137"));
  EXPECT_EQ(state(same.end), CommandState::kExited);
  EXPECT_EQ(same.end.exit_code, 137);
  // The counter is read as a difference: the next command on the slot starts from nothing.
  const Output innocent = client->run(shell("c", "kill -9 $$"));
  EXPECT_EQ(state(innocent.end), CommandState::kSignalled);
  EXPECT_EQ(innocent.end.oom_kills, 0U);
}

TEST_F(SandboxedTest, MemoryHeldByFilesInTmpfsIsTold) {
  client->run(shell("fill", "head -c 50m /dev/zero > /dev/shm/big"));
  const Output got = client->run(command("a", {"python3", "-c", "x = bytearray(50 << 20)"}));
  EXPECT_EQ(state(got.end), CommandState::kOomKilled);
  EXPECT_GT(got.end.tmpfs_bytes, 40U << 20);
}

TEST_F(SandboxedTest, TimeoutAndKillReachWhatLeftTheGroup) {
  wire::StartCommand request = shell("a", "setsid sleep 600 & setsid setsid sleep 600 & sleep 600");
  request.timeout_ms = 200;
  EXPECT_EQ(state(client->run(request).end), CommandState::kTimedOut);
  EXPECT_EQ(client->run(shell("b", "ps ax | grep -c '[s]leep 600'")).out, "0\n");

  client->run(shell("c", "setsid sleep 601 >/dev/null 2>&1 & exit 0"));
  EXPECT_EQ(client->run(shell("d", "ps ax | grep -c '[s]leep 601'")).out, "1\n");
  // After the leader's end, kill by its id reaches the rest of the tree.
  EXPECT_EQ(type_of(client->call(Type::kKill, wire::Kill{"c", 0, "client"})), Type::kOk);
  EXPECT_EQ(client
                ->run(shell("e",
                            "for i in $(seq 100); do ps ax | grep -q '[s]leep 601' || break; sleep "
                            "0.02; done; ps ax | grep -c '[s]leep 601'"))
                .out,
            "0\n");
}

// Fills the table and keeps it full: a shell would end at the first fork that fails.
constexpr const char* kForks = R"(
import os, signal
while True:
    try:
        if os.fork() == 0: signal.pause()
    except BlockingIOError: pass
)";

TEST_F(SandboxedTest, TheLimitOfProcessesIsTold) {
  client->start(command("a", {"python3", "-c", kForks}));
  // The table is full once a start fails so. Until then starts succeed.
  wire::ErrorMsg error;
  for (int i = 0; i < 500 && error.code == 0; ++i) {
    error = error_of(client->call(Type::kStart, command("b" + std::to_string(i), {"true"})));
  }
  EXPECT_EQ(error.reason, "pids_limit") << error.message;
  client->call(Type::kKill, wire::Kill{"a", 0, "client"});
  client->attach("a");
}

TEST_F(SandboxedTest, SlotsAreReused) {
  for (int i = 0; i < 30; ++i) client->run(command("a" + std::to_string(i), {"true"}));
  const wire::Frame stats = client->call(Type::kStats, wire::Empty{});
  EXPECT_EQ(wire::decode<wire::StatsMsg>(stats.payload).value().running_commands, 0U);
}

// Root inside stops, kills and reniceses whatever it sees, all the time.
constexpr const char* kAttack = R"(
import os, signal, sys
me = os.getpid()
print("up", flush=True)
n = 0
while True:
    for name in os.listdir("/proc"):
        if not name.isdigit(): continue
        pid = int(name)
        if pid == me or pid == 1: continue
        try:
            exe = os.readlink("/proc/%d/exe" % pid)
        except OSError:
            exe = ""
        if exe: continue
        n += 1
        try: os.kill(pid, signal.SIGSTOP if n % 2 else signal.SIGKILL)
        except OSError: pass
)";

TEST_F(SandboxedTest, AnAttackOnStartingCommandsNeverHangsOrLies) {
  client->start(command("attack", {"python3", "-c", kAttack}));
  wire::Attach attach;
  attach.command_id = "attack";
  attach.credit = 100;
  const std::uint32_t reader = client->ask(Type::kAttach, attach);
  ASSERT_EQ(client->collect(reader, 1).out, "up\n");
  int ran = 0, refused = 0, ended = 0, tried = 0;
  // How many come about in that time is the machine's affair; that each is answered, the client's
  // own limit sees to.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (; tried < 300 && std::chrono::steady_clock::now() < until; ++tried) {
    const std::string id = "v" + std::to_string(tried);
    const wire::Frame answer = client->call(Type::kStart, command(id, {"/bin/echo", "hi"}));
    if (type_of(answer) == Type::kError) {
      EXPECT_EQ(error_of(answer).reason, "start_interfered") << error_of(answer).message;
      ++refused;
      continue;
    }
    // From here on it is the guest's own program: killed or stopped by its own root.
    client->call(Type::kKill, wire::Kill{id, SIGCONT, "client"});
    client->call(Type::kKill, wire::Kill{id, 0, "client"});
    const Output got = client->attach(id);
    EXPECT_TRUE(got.ended);
    if (state(got.end) == CommandState::kExited) {
      EXPECT_EQ(got.out, "hi\n");
      ++ran;
    } else {
      ++ended;
    }
  }
  std::printf("under attack: %d ran to their end, %d were killed, %d were refused\n", ran, ended,
              refused);
  EXPECT_EQ(ran + ended + refused, tried);
  EXPECT_GT(tried, 10);
}

TEST_F(SandboxedTest, ATerminalBelongsToWhoUsesIt) {
  for (const char* user : {"", "1000"}) {
    wire::StartCommand request =
        shell(std::string("pty") + user,
              "tty; stat -c %u $(tty); echo reopened > /dev/stderr; echo done > /dev/tty");
    request.pty = true;
    request.user = user;
    const Output got = client->run(request);
    const std::string owner = *user == '\0' ? "0" : user;
    EXPECT_EQ(got.out, "/dev/pts/0\r\n" + owner + "\r\nreopened\r\ndone\r\n");
    client->run(shell(std::string("gap") + user, "true"));
  }
}

TEST_F(SandboxedTest, FileHelpersWorkInside) {
  const std::string dir = keeper->home() + "/shared";
  ASSERT_EQ(::mkdir(dir.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(dir.c_str(), 0777), 0);
  std::ofstream(dir + "/f") << "hello";
  wire::FileOp op;
  op.verb = static_cast<std::uint8_t>(wire::FileVerb::kRead);
  op.path = dir + "/f";
  op.credit = 1000;
  const std::uint32_t read = client->ask(Type::kFileOp, op);
  EXPECT_EQ(type_of(client->next(read)), Type::kFileInfo);
  EXPECT_EQ(wire::decode_data(client->next(read).payload).value().bytes, "hello");
  EXPECT_EQ(type_of(client->next(read)), Type::kEof);
  // A file of the host's root stays unreadable: root inside is nobody outside.
  op.path = "/etc/shadow";
  EXPECT_EQ(error_of(client->call(Type::kFileOp, op)).reason, "permission_denied");
}

// A helper that waits still has the root that it entered. One that enters now gets what lies there.
TEST_F(SandboxedTest, AHelperThatWaitedSeesARootThatIsNewSince) {
  const std::string dir = keeper->home() + "/shared";
  ASSERT_EQ(::mkdir(dir.c_str(), 0777), 0);
  std::ofstream(dir + "/f") << "hello";
  wire::FileOp op;
  op.verb = static_cast<std::uint8_t>(wire::FileVerb::kStat);
  op.path = dir + "/f";
  EXPECT_EQ(type_of(client->call(Type::kFileOp, op)), Type::kFileInfo);
  const std::string number = std::to_string(keeper->pid());
  std::ifstream children("/proc/" + number + "/task/" + number + "/children");
  std::string helper;
  for (std::string pid; children >> pid;) helper = pid;  // init is the first
  const std::string enter = "nsenter -t " + helper + " -U -m mount -t tmpfs none /";
  ASSERT_EQ(std::system(enter.c_str()), 0);
  EXPECT_EQ(error_of(client->call(Type::kFileOp, op)).reason, "file_not_found");
}

// The helper is root inside alone: owners and capabilities of files are those of the sandbox.
TEST_F(SandboxedTest, ALayerIsWrittenAsRootInside) {
  const std::string capability(
      "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00"
      "\x00\x00\x00\x00\x00\x00\x00\x00",
      20);
  wire::LayerEntryMsg entry;
  entry.path = "bin/ping";
  entry.size = 2;
  entry.mode = 04755;
  entry.uid = 1000;
  entry.gid = 65535;
  entry.xattrs = {{"security.capability", capability}};
  wire::FileOp op;
  op.verb = static_cast<std::uint8_t>(wire::FileVerb::kWriteLayer);
  op.path = "/";
  op.user = "1000";  // it is root's work whoever is named
  const std::uint32_t write = client->ask(Type::kFileOp, op);
  ASSERT_EQ(type_of(client->next(write)), Type::kCredit);
  client->send(Type::kLayerEntry, write, entry);
  wire::Data data;
  data.bytes = "hi";
  client->send(Type::kData, write, wire::encode_data(data));
  client->send(Type::kEof, write, wire::Eof{});
  const wire::Frame done = client->next(write);
  ASSERT_EQ(type_of(done), Type::kOk) << error_of(done).message;
  struct stat info{};
  ASSERT_EQ(::stat((layer_root.path() + "/bin/ping").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, sandbox->first_guest_uid() + 1000);
  EXPECT_EQ(info.st_gid, sandbox->first_guest_uid() + 65535);
  EXPECT_EQ(info.st_mode & 07777, 04755U);
  ASSERT_EQ(::stat((layer_root.path() + "/bin").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, sandbox->first_guest_uid());

  op.verb = static_cast<std::uint8_t>(wire::FileVerb::kReadLayer);
  op.path = layer_root.path();
  op.credit = 1 << 20;
  const std::uint32_t read = client->ask(Type::kFileOp, op);
  const auto next = [&] {  // but for the signs that it is at work
    for (;;) {
      wire::Frame frame = client->next(read);
      if (type_of(frame) != Type::kCredit) return frame;
    }
  };
  ASSERT_EQ(type_of(next()), Type::kLayerEntry);  // the root
  ASSERT_EQ(type_of(next()), Type::kLayerEntry);  // bin
  const auto back = wire::decode<wire::LayerEntryMsg>(next().payload).value();
  EXPECT_EQ(back.path, "bin/ping");
  EXPECT_EQ(back.uid, 1000U);
  EXPECT_EQ(back.gid, 65535U);
  EXPECT_EQ(back.mode, 04755U);
  ASSERT_EQ(back.xattrs.size(), 1U);
  EXPECT_EQ(back.xattrs[0].name, "security.capability");
  EXPECT_EQ(back.xattrs[0].value, capability);
  EXPECT_EQ(wire::decode_data(next().payload).value().bytes, "hi");
  EXPECT_EQ(type_of(next()), Type::kEof);
}

TEST_F(SandboxedTest, TheEndOfInitIsTheEndOfTheKeeper) {
  client->start(shell("a", "exec sleep 600"));
  EXPECT_EQ(type_of(client->call(Type::kShutdown, wire::Empty{})), Type::kOk);
  EXPECT_EQ(keeper->wait(), 0);
}

}  // namespace
}  // namespace cay::keeper::testing
