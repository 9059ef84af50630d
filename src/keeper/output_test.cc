// Output: exact bytes at any offset, gaps reported, memory bounded; stdin and terminals.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <random>

#include "base/error.h"
#include "keeper/command_state.h"
#include "keeper/testing/local_keeper.h"
#include "wire/spool_layout.h"
#include "wire/spool_record.h"

namespace cay::keeper::testing {
namespace {

using wire::Type;

// FNV-1a: enough to see any byte lost, doubled or moved.
struct Hash {
  std::uint64_t value = 14695981039346656037ULL;
  std::uint64_t bytes = 0;
  void add(std::string_view text) {
    for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    bytes += text.size();
  }
};

// `bytes` of text that never repeats at the same place: numbered lines.
std::string numbers(std::uint64_t bytes) {
  return "seq 1 100000000 | head -c " + std::to_string(bytes);
}

Hash expected(std::uint64_t bytes) {
  Hash hash;
  for (std::uint64_t n = 1; hash.bytes < bytes; ++n) {
    const std::string line = std::to_string(n) + "\n";
    hash.add(std::string_view(line).substr(
        0, static_cast<std::size_t>(std::min<std::uint64_t>(line.size(), bytes - hash.bytes))));
  }
  return hash;
}

class OutputTest : public ::testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(Over, OutputTest, ::testing::Values(Transport::kUnix, Transport::kTcp),
                         [](const auto& transport) {
                           return transport.param == Transport::kUnix ? "Unix" : "Tcp";
                         });

TEST_P(OutputTest, AReaderThatIsCutAndComesBackSeesTheSameBytes) {
  constexpr std::uint64_t kBytes = 64ULL << 20;
  LocalKeeper keeper(GetParam());
  Hash hash;
  std::minstd_rand random(7);
  keeper.client().start(shell("big", numbers(kBytes)));
  bool ended = false;
  int connections = 0;
  while (!ended) {
    Client client = keeper.client();
    ++connections;
    wire::Attach attach;
    attach.command_id = "big";
    attach.out_offset = hash.bytes;
    attach.credit = 300'000;
    const std::uint32_t reader = client.ask(Type::kAttach, attach);
    const Output got = client.collect(reader, 1 + random() % (4U << 20));
    ASSERT_EQ(got.error.code, 0U) << got.error.message;
    ASSERT_TRUE(got.gaps.empty());
    hash.add(got.out);
    ended = got.ended;
    // Half of the cuts fall in the middle of a frame: bytes are on their way and get lost with the
    // socket.
  }
  const Hash want = expected(kBytes);
  EXPECT_EQ(hash.bytes, want.bytes);
  EXPECT_EQ(hash.value, want.value);
  EXPECT_GT(connections, 10);
  EXPECT_TRUE(!kMemoryTells || keeper.peak_kib() < 64 * 1024) << keeper.peak_kib();
}

TEST_P(OutputTest, AStalledReaderHoldsNobodyUp) {
  LocalKeeper keeper(GetParam());
  Client client = keeper.client();
  client.start(shell("big", numbers(50ULL << 20)));
  wire::Attach attach;
  attach.command_id = "big";
  attach.credit = 1000;
  const std::uint32_t stalled = client.ask(Type::kAttach, attach);  // never grants more
  const Output other = client.attach("big");
  EXPECT_EQ(other.out.size(), 50U << 20);
  EXPECT_EQ(client.run(shell("small", "echo hi")).out, "hi\n");
  client.send(Type::kCredit, stalled, wire::Credit{100U << 20});
  EXPECT_EQ(client.collect(stalled).out.size(), 50U << 20);
}

TEST(OutputTest, AConnectionThatReadsNothingGrowsNoMemory) {
  LocalKeeper keeper;
  Client client = keeper.client();
  client.start(shell("big", numbers(50ULL << 20)));
  client.attach("big");
  const long before = keeper.rss_kib();
  for (int i = 0; i < 50; ++i) {
    wire::Attach attach;
    attach.command_id = "big";
    attach.credit = std::uint64_t{1} << 40;
    client.ask(Type::kAttach, attach);
  }
  // A second daemon's answer shows that the keeper is well while the first reads nothing.
  EXPECT_EQ(keeper.client().run(shell("small", "sleep 0.3; echo hi")).out, "hi\n");
  EXPECT_TRUE(!kMemoryTells || keeper.rss_kib() < before + 8 * 1024) << keeper.rss_kib();
}

// The record and the file, as a reader finds them when the keeper is killed now.
TEST(OutputTest, ARingThatAChildWritesOnAfterTheEndIsNotReadByTheEndsRecord) {
  LocalKeeper keeper;
  Client client = keeper.client();
  constexpr std::uint64_t kFirst = 20'000, kLate = 1000, kLimit = 4096;
  const auto letters = [](std::uint64_t count, char letter) {
    return "head -c " + std::to_string(count) + " /dev/zero | tr '\\0' " + letter;
  };
  const std::string gate = keeper.home() + "/gate";
  wire::StartCommand request =
      shell("a", letters(kFirst, 'a') + "; (while [ ! -e " + gate + " ]; do sleep 0.01; done; " +
                     letters(kLate, 'b') + "; exec sleep 600) & exit 3");
  request.spool_limit = kLimit;
  client.start(request);
  EXPECT_EQ(client.attach("a").end.exit_code, 3);
  const auto check = [&] {
    const UniqueFd record_file(::open((keeper.spool() + "/a/record").c_str(), O_RDONLY));
    std::string text(64 * 1024, '\0');
    text.resize(static_cast<std::size_t>(
        std::max<ssize_t>(::read(record_file.get(), text.data(), text.size()), 0)));
    const auto record = wire::read_record(text);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->message.out.end_offset, kFirst);
    const UniqueFd out(::open((keeper.spool() + "/a/out").c_str(), O_RDONLY));
    std::uint64_t at = 0;
    for (;;) {
      const wire::SpoolPiece piece = wire::locate(record->message.out, at, kLimit);
      if (piece.kind == wire::SpoolPiece::Kind::kEnd) break;
      if (piece.kind == wire::SpoolPiece::Kind::kData) {
        std::string bytes(piece.length, '\0');
        ASSERT_EQ(
            ::pread(out.get(), bytes.data(), bytes.size(), static_cast<off_t>(piece.file_position)),
            static_cast<ssize_t>(bytes.size()));
        for (std::uint64_t i = 0; i < piece.length; ++i)
          ASSERT_EQ(bytes[i], at + i < kFirst ? 'a' : 'b') << at + i;
      }
      at += piece.length;
    }
    EXPECT_GE(at, kFirst) << "every byte is there or told as dropped";
  };
  check();
  client.run(shell("open", "touch " + gate));
  const auto now = [&] {
    return wire::decode<wire::CommandMsg>(
               client.call(Type::kGetCommand, wire::CommandRef{"a"}).payload)
        ->out;
  };
  for (int i = 0; i < 1000 && now().bytes < kFirst + kLate; ++i) ::usleep(10'000);
  ASSERT_EQ(now().bytes, kFirst + kLate);
  check();
  // While the keeper lives, and once nobody can write any more, both halves are there.
  EXPECT_EQ(now().gap_end, kFirst + kLate - kLimit / 2);
  EXPECT_EQ(type_of(client.call(Type::kKill, wire::Kill{"a", 0, "client"})), Type::kOk);
  for (int i = 0; i < 1000; ++i) {
    const UniqueFd file(::open((keeper.spool() + "/a/record").c_str(), O_RDONLY));
    std::string text(64 * 1024, '\0');
    text.resize(static_cast<std::size_t>(
        std::max<ssize_t>(::read(file.get(), text.data(), text.size()), 0)));
    const auto record = wire::read_record(text);
    if (record && record->message.out.gap_end == kFirst + kLate - kLimit / 2) return;
    ::usleep(10'000);
  }
  FAIL() << "the record of a settled command is exact";
}

TEST(OutputTest, PastItsLimitTheMiddleIsAGap) {
  LocalKeeper keeper;
  Client client = keeper.client();
  constexpr std::uint64_t kBytes = 3'000'000, kLimit = 1'000'000;
  wire::StartCommand request = shell("a", numbers(kBytes));
  request.spool_limit = kLimit;
  const Output whole = client.run(shell("b", numbers(kBytes)));
  client.start(request);
  client.attach("a");
  const Output got = client.attach("a");
  ASSERT_EQ(got.gaps.size(), 1U);
  EXPECT_EQ(got.gaps[0].offset, kLimit / 2);
  EXPECT_EQ(got.gaps[0].length, kBytes - kLimit);
  EXPECT_EQ(got.out, whole.out.substr(0, kLimit / 2) + whole.out.substr(kBytes - kLimit / 2));
  EXPECT_EQ(got.end.out.bytes, kBytes);
  EXPECT_EQ(got.end.out.gap_begin, kLimit / 2);
  EXPECT_EQ(got.end.out.gap_end, kBytes - kLimit / 2);
  struct stat info{};
  ASSERT_EQ(::stat((keeper.spool() + "/a/out").c_str(), &info), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(info.st_size), kLimit + wire::kRingMark);
  // From inside the gap, and from the last byte.
  const Output inside = client.attach("a", 700'000);
  ASSERT_EQ(inside.gaps.size(), 1U);
  EXPECT_EQ(inside.gaps[0].offset, 700'000U);
  EXPECT_EQ(inside.out, whole.out.substr(kBytes - kLimit / 2));
  EXPECT_EQ(client.attach("a", kBytes - 1).out, whole.out.substr(kBytes - 1));
  EXPECT_EQ(client.attach("a", kBytes).out, "");
  EXPECT_EQ(client.attach("a", kBytes + 1).error.code,
            static_cast<std::uint32_t>(Code::kOutOfRange));
}

TEST(OutputTest, AFullDiskNeverBlocksTheCommandAndIsTold) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount a small tmpfs";
  LocalKeeper* keeper = nullptr;
  std::string mounted;
  LocalKeeper made(Transport::kUnix, [&](Context& context) {
    const std::string path = "/proc/self/fd/" + std::to_string(context.spool_fd);
    char target[4096] = {};
    ASSERT_GT(::readlink(path.c_str(), target, sizeof target - 1), 0);
    mounted = target;
    ASSERT_EQ(::mount("cay-test", mounted.c_str(), "tmpfs", 0, "size=1m"), 0);
    context.spool_fd = ::open(mounted.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  });
  keeper = &made;
  {
    Client client = keeper->client();
    constexpr std::uint64_t kBytes = 5'000'000;
    const Output live = client.run(shell("a", numbers(kBytes) + "; exit 5"));
    EXPECT_EQ(live.end.exit_code, 5);
    EXPECT_EQ(live.end.out.bytes, kBytes);
    const Output got = client.attach("a");
    ASSERT_EQ(got.gaps.size(), 1U);
    EXPECT_EQ(got.out.size() + got.gaps[0].length, kBytes);
    EXPECT_TRUE(got.out.starts_with("1\n2\n3\n"));
    EXPECT_GT(got.out.size(), 500'000U);
  }
  EXPECT_EQ(::umount2(mounted.c_str(), MNT_DETACH), 0);
}

TEST_P(OutputTest, StdinArrivesWholeUnderBackPressure) {
  LocalKeeper keeper(GetParam());
  Client client = keeper.client();
  client.start(shell("a", "sleep 0.2; wc -c"));
  std::vector<std::uint32_t> writes;
  constexpr int kWrites = 40;
  for (int i = 0; i < kWrites; ++i) {
    writes.push_back(client.ask(Type::kStdin, wire::Stdin{"a", std::string(64 * 1024, 'x')}));
  }
  const std::uint32_t close = client.ask(Type::kCloseStdin, wire::CommandRef{"a"});
  for (const std::uint32_t one : writes) EXPECT_EQ(type_of(client.next(one)), Type::kOk);
  EXPECT_EQ(type_of(client.next(close)), Type::kOk);
  EXPECT_EQ(std::stoll(client.attach("a").out), kWrites * 64 * 1024);
  EXPECT_EQ(error_of(client.call(Type::kStdin, wire::Stdin{"a", "late"})).reason, "stdin_closed");
}

TEST_P(OutputTest, TooMuchWaitingStdinIsRefusedNotKept) {
  LocalKeeper keeper(GetParam());
  Client client = keeper.client();
  client.start(shell("a", "exec sleep 600"));
  std::vector<std::uint32_t> writes;
  for (int i = 0; i < 100; ++i)
    writes.push_back(client.ask(Type::kStdin, wire::Stdin{"a", std::string(64 * 1024, 'x')}));
  const wire::Frame last = client.next(writes.back());
  EXPECT_EQ(error_of(last).reason, "stdin_backlog");
  EXPECT_TRUE(!kMemoryTells || keeper.rss_kib() < 64 * 1024) << keeper.rss_kib();
  client.call(Type::kKill, wire::Kill{"a", 0, "client"});
  client.attach("a");
}

TEST(OutputTest, AClosedStdinIsAPipeAtItsEnd) {
  LocalKeeper keeper;
  Client client = keeper.client();
  wire::StartCommand request = shell("a", "test -p /dev/stdin && cat && echo end");
  request.close_stdin = true;
  EXPECT_EQ(client.run(request).out, "end\n");
  EXPECT_EQ(error_of(client.call(Type::kStdin, wire::Stdin{"a", "x"})).reason, "stdin_closed");
}

TEST(OutputTest, ATerminalIsOne) {
  LocalKeeper keeper;
  Client client = keeper.client();
  wire::StartCommand request =
      shell("a", "tty; stty size; echo $TERM; read x; echo got $x; stty size; echo err >&2");
  request.pty = true;
  request.rows = 33;
  request.cols = 101;
  client.start(request);
  wire::Attach attach;
  attach.command_id = "a";
  attach.credit = 100'000;
  const std::uint32_t reader = client.ask(Type::kAttach, attach);
  EXPECT_EQ(type_of(client.call(Type::kResize, wire::Resize{"a", 40, 120})), Type::kOk);
  EXPECT_EQ(type_of(client.call(Type::kCloseStdin, wire::CommandRef{"a"})),
            Type::kOk);  // means nothing here
  EXPECT_EQ(type_of(client.call(Type::kStdin, wire::Stdin{"a", "hello\n"})), Type::kOk);
  const Output got = client.collect(reader);
  EXPECT_NE(got.out.find("/dev/pts/"), std::string::npos) << got.out;
  EXPECT_NE(got.out.find("xterm-256color"), std::string::npos) << got.out;
  EXPECT_NE(got.out.find("got hello\r\n40 120\r\nerr\r\n"), std::string::npos) << got.out;
  EXPECT_EQ(got.err, "");
  EXPECT_EQ(got.end.exit_code, 0);
}

TEST(OutputTest, ATerminalStartsWithItsSizeAndLosesNoLastByte) {
  LocalKeeper keeper;
  Client client = keeper.client();
  for (int i = 0; i < 30; ++i) {
    wire::StartCommand request = shell("a" + std::to_string(i), "stty size; seq 1 2000; echo last");
    request.pty = true;
    request.rows = 33;
    request.cols = 101;
    const Output got = client.run(request);
    ASSERT_TRUE(got.out.starts_with("33 101\r\n")) << got.out;
    ASSERT_TRUE(got.out.ends_with("2000\r\nlast\r\n")) << got.out.size();
  }
}

}  // namespace
}  // namespace cay::keeper::testing
