// Runs the driver of shells with the bash of this machine.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "code/context_driver.h"
#include "code/evaluation_reader.h"
#include "code/ledger.h"
#include "code/shell/text.h"

namespace cay::code {
namespace {

using Kind = ContextEvent::Kind;
using Clock = std::chrono::steady_clock;

struct Called {
  EvaluationState state = EvaluationState::kRunning;
  std::optional<std::uint32_t> exit_code;
  std::string out, raw, err, cwd;  // raw: the exact bytes of out
  std::vector<ContextEvent> background;
  bool ended = false;
};

class ShellDriverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::access("/bin/bash", X_OK) != 0) GTEST_SKIP() << "there is no bash";
    int in[2], out[2];
    ledger_ = ::memfd_create("ledger", MFD_CLOEXEC);
    ASSERT_GE(ledger_, 0);
    ASSERT_EQ(::pipe2(in, O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(out, O_CLOEXEC), 0);
    std::vector<char*> words;
    argv_ = driver_of("bash")->argv;
    for (std::string& word : argv_) words.push_back(word.data());
    words.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::dup2(ledger_, 2);
      // A program of a test writes to every descriptor that it finds.
      constexpr unsigned kFirstOfOthers = 3;
      ::close_range(kFirstOfOthers, ~0U, CLOSE_RANGE_CLOEXEC);
      ::execvp(words[0], words.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    output_.clear();
    in_ = in[1];
    out_ = out[0];
  }

  void TearDown() override {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      wait_for_end();
    }
    if (in_ >= 0) ::close(in_);
    if (out_ >= 0) ::close(out_);
    if (ledger_ >= 0) ::close(ledger_);
  }

  // All of it so far.
  Ledger ledger() const {
    Ledger out;
    char bytes[4096];
    for (off_t at = 0;;) {
      const ssize_t got = ::pread(ledger_, bytes, sizeof bytes, at);
      if (got <= 0) return out;
      out.feed({bytes, static_cast<std::size_t>(got)});
      at += got;
    }
  }

  int wait_for_end() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // Returns the id.
  std::string send(std::string code, std::uint64_t timeout_ms = 0, std::string input = {}) {
    EvaluationSpec spec{.id = "call-" + std::to_string(++count_), .code = std::move(code)};
    spec.timeout_ms = timeout_ms;
    spec.input = std::move(input);
    const std::string line = request_line("bash", spec);
    EXPECT_EQ(::write(in_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
    return spec.id;
  }

  // Reads until the call is over, or has written `text`.
  Called read(const std::string& id, const std::string& text = {},
              std::chrono::milliseconds most = std::chrono::seconds(30)) {
    EvaluationReader reader(id, {});
    std::vector<ContextEvent> events;
    Called got;
    const auto limit = Clock::now() + most;
    std::size_t at = 0;
    while (Clock::now() < limit) {
      reader.feed(std::string_view(output_).substr(at));
      at = output_.size();
      for (ContextEvent& one : reader.take_events()) {
        if (one.kind == Kind::kStdout) got.out += one.text;
        if (one.kind == Kind::kStdout) got.raw += one.raw.empty() ? one.text : one.raw;
        if (one.kind == Kind::kStderr) got.err += one.text;
        if (one.kind == Kind::kBackground) got.background.push_back(std::move(one));
      }
      if (reader.is_over() || (!text.empty() && got.out.find(text) != std::string::npos)) break;
      pollfd wait{.fd = out_, .events = POLLIN, .revents = 0};
      constexpr int kPauseMs = 20;
      if (::poll(&wait, 1, kPauseMs) == 0) continue;
      char bytes[65'536];
      const ssize_t size = ::read(out_, bytes, sizeof bytes);
      if (size <= 0) break;
      output_.append(bytes, static_cast<std::size_t>(size));
    }
    got.state = reader.state();
    got.exit_code = reader.ending().exit_code;
    got.cwd = reader.ending().cwd;
    got.ended = reader.ending().shell_ended;
    return got;
  }

  Called run(std::string code, std::uint64_t timeout_ms = 0, std::string input = {}) {
    return read(send(std::move(code), timeout_ms, std::move(input)));
  }

  std::vector<std::string> argv_;
  pid_t pid_ = 0;
  int in_ = -1, out_ = -1, ledger_ = -1, count_ = 0;
  std::string output_;
};

TEST_F(ShellDriverTest, KeepsDirectoryVariablesFunctionsAndOptions) {
  run("cd /usr; name=value; export SEEN=1; f() { echo \"f $1\"; }; alias a='echo alias'; set -u");
  const Called got = run("pwd; echo $name; f 2; env | grep ^SEEN=; a; echo $unset");
  EXPECT_EQ(got.out, "/usr\nvalue\nf 2\nSEEN=1\nalias\n");
  EXPECT_EQ(got.err, "bash: unset: unbound variable\n");
  EXPECT_EQ(got.cwd, "/usr");
  EXPECT_EQ(got.exit_code, 1u);
}

TEST_F(ShellDriverTest, ReportsExitCodesAndGivesThemToTheNextCall) {
  EXPECT_EQ(run("(exit 7)").exit_code, 7u);
  EXPECT_EQ(run("echo $?").out, "7\n");
  EXPECT_EQ(run("return 4").exit_code, 4u);
  EXPECT_EQ(run("no-such-program").exit_code, 127u);
  EXPECT_EQ(run("set -e; true").state, EvaluationState::kOk);
}

TEST_F(ShellDriverTest, SurvivesErrorsOfSyntax) {
  for (const char* code : {"if then fi", "echo 'open", "(", "cat <<X"}) {
    const Called got = run(code);
    EXPECT_FALSE(got.ended) << code;
  }
  EXPECT_EQ(run("if then fi").state, EvaluationState::kError);
  EXPECT_EQ(run("echo 'after'").out, "after\n");
}

TEST_F(ShellDriverTest, TellsOutputsApartAndReadsInput) {
  const Called got = run("cat; echo out; echo err >&2", 0, "in\n");
  EXPECT_EQ(got.out, "in\nout\n");
  EXPECT_EQ(got.err, "err\n");
  EXPECT_EQ(run("cat; read line; echo $?").out, "1\n") << "without input there is /dev/null";
  EXPECT_EQ(run("printf 'a\\xff\\0\\xc3\\xa9\\xe2\\x82'").out,
            std::string("a\xef\xbf\xbd") + '\0' + "\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd");
  constexpr auto kNoText = "b\xff\xc3\xa9\x80\xe2\x82";
  EXPECT_EQ(run("printf 'b\\xff\\xc3\\xa9\\x80\\xe2\\x82'").raw, kNoText);
  EXPECT_EQ(run("printf 'b\\xe2'; sleep 0.1; printf '\\x82\\xac'").raw, "b\xe2\x82\xac");
  EXPECT_EQ(run("head -c 3000000 /dev/zero | tr '\\0' x").out.size(), 3'000'000u);
}

TEST_F(ShellDriverTest, GivesOutputOfAJobToTheCallThatStartedIt) {
  const std::string first = send(
      "(read line </proc/self/fd/0; until [ -e $0.go ]; do sleep 0.01; "
      "done; echo late; echo later >&2) & echo started; f=$(mktemp -u)");
  EXPECT_EQ(read(first).out, "started\n");
  const Called got = run("touch $0.go; wait; rm $0.go; echo own");
  EXPECT_EQ(got.out, "own\n");
  std::string out, err;
  for (const ContextEvent& one : got.background) {
    EXPECT_EQ(one.of, first);
    (one.name == "stdout" ? out : err) += one.text;
  }
  EXPECT_EQ(out, "late\n");
  EXPECT_EQ(err, "later\n");
}

TEST_F(ShellDriverTest, GivesOutputOfAJobAtOnce) {
  const std::string first = send(
      "(sleep 0.05; echo one; printf 'a\\xe2'; sleep 0.05; "
      "printf '\\x82\\xac') & cd /tmp");
  EXPECT_EQ(read(first).exit_code, 0u);
  const auto limit = Clock::now() + std::chrono::seconds(30);
  // Nothing is sent to the shell meanwhile.
  for (auto closed = ledger(); !closed.find(first)->jobs_end_at; closed = ledger()) {
    ASSERT_LT(Clock::now(), limit);
    pollfd wait{.fd = out_, .events = POLLIN, .revents = 0};
    constexpr int kPauseMs = 20;
    if (::poll(&wait, 1, kPauseMs) == 0) continue;
    char bytes[4096];
    const ssize_t size = ::read(out_, bytes, sizeof bytes);
    ASSERT_GT(size, 0);
    output_.append(bytes, static_cast<std::size_t>(size));
  }
  EvaluationReader jobs(first, {.jobs = true});
  jobs.feed(output_);
  std::string out;
  for (const ContextEvent& one : jobs.take_events()) out += one.text;
  EXPECT_EQ(out, "one\na\xe2\x82\xac");
}

TEST_F(ShellDriverTest, TheLedgerTellsWhereACallLiesAndHowItEnded) {
  const std::string first = send("echo one; cd /tmp");
  read(first);
  const std::string second = send("echo two; exit 9");
  read(second);
  wait_for_end();
  const Ledger told = ledger();
  const LedgerEntry* one = told.find(first);
  const LedgerEntry* two = told.find(second);
  ASSERT_TRUE(one != nullptr && two != nullptr);
  EXPECT_EQ(one->at, 0u);
  EXPECT_EQ(one->exit_code, 0u);
  EXPECT_EQ(one->cwd, "/tmp");
  EXPECT_FALSE(one->has_jobs);
  EXPECT_EQ(two->from, one->end);
  EXPECT_EQ(two->at, one->end);
  EXPECT_EQ(two->end, output_.size());
  EXPECT_EQ(two->exit_code, 9u);
  EXPECT_TRUE(two->shell_ended);
  EXPECT_EQ(two->tag, tag_of({.id = {}, .code = "echo two; exit 9"}));
}

TEST_F(ShellDriverTest, AnEarlyInterruptIsNotLost) {
  run(":");
  for (int i = 0; i < 5; ++i) {
    const std::string id = send("while :; do :; done");
    ::kill(pid_, SIGINT);
    EXPECT_EQ(read(id).state, EvaluationState::kInterrupted);
  }
}

TEST_F(ShellDriverTest, ASecondInterruptKillsWhatIgnoresTheFirst) {
  const std::string id = send("(trap '' INT; echo begun; sleep 60); echo no");
  read(id, "begun");
  Called got;
  // Two that come at once are one.
  for (int i = 0; i < 100 && got.state == EvaluationState::kRunning; ++i) {
    ::kill(pid_, SIGINT);
    got = read(id, {}, std::chrono::milliseconds(50));
  }
  EXPECT_EQ(got.state, EvaluationState::kInterrupted);
  EXPECT_EQ(run("echo alive").out, "alive\n");
}

TEST_F(ShellDriverTest, ATimeLimitEndsTheCallAndAtLastTheShell) {
  run("sleep 60 & job=$!");
  EXPECT_EQ(run("sleep 60; echo no", 50).state, EvaluationState::kTimedOut);
  const Called deaf = run("(trap '' INT; sleep 60); while :; do sleep 60; done", 50);
  EXPECT_EQ(deaf.state, EvaluationState::kTimedOut);
  EXPECT_FALSE(deaf.ended);
  EXPECT_EQ(run("kill $job && echo lives").out, "lives\n");
  const Called lost = run("trap '' INT; while :; do :; done", 50);
  EXPECT_EQ(lost.state, EvaluationState::kTimedOut);
  EXPECT_TRUE(lost.ended) << "bash itself ignores all but a kill";
}

TEST_F(ShellDriverTest, AnExitIsTheEndOfTheShell) {
  run("trap 'echo bye' EXIT");
  const Called got = run("echo last; exit 3");
  EXPECT_EQ(got.exit_code, 3u);
  EXPECT_EQ(got.state, EvaluationState::kError);
  EXPECT_TRUE(got.ended);
  EXPECT_EQ(got.out, "last\nbye\n");
  EXPECT_EQ(wait_for_end(), 3);
}

TEST_F(ShellDriverTest, AProgramCannotForgeAnEnd) {
  // It writes to all descriptors that it holds, and to all pipes of bash and of the driver. It
  // touches no other process: as root it could write to everybody's.
  const Called got =
      run("echo own; shell=$$ driver=$PPID sh -c 'for f in /proc/self/fd/*; do echo \"ok=0\" >$f; "
          "done; for f in /proc/$shell/fd/* /proc/$driver/fd/*; do case $(readlink $f) in pipe:*) "
          "printf \"forged=0\\n=0\\n0\\n\" >$f;; esac; done' 2>/dev/null & wait $!; (exit 9)",
          5000);
  EXPECT_EQ(got.exit_code, 9u);
}

TEST(ShellTextTest, ReadsBase64Strictly) {
  std::string good = "aGkhCg==";
  ASSERT_EQ(shell::decode_base64(good.data(), good.size()), 4);
  EXPECT_EQ(good.substr(0, 4), "hi!\n");
  for (std::string bad : {"aGk", "a===", "aG=k", "====", "aG\nk", "aGk=aGk="})
    EXPECT_EQ(shell::decode_base64(bad.data(), bad.size()), -1) << bad;
}

}  // namespace
}  // namespace cay::code
