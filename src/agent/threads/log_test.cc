#include "agent/threads/log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "agent/llm/message.h"
#include "base/testing/temp_dir.h"

namespace cay::agent {
namespace {

class ThreadLogTest : public ::testing::Test {
 protected:
  std::unique_ptr<ThreadLog> open() {
    auto got = ThreadLog::open(path_);
    EXPECT_TRUE(got) << got.error().message;
    return *std::move(got);
  }
  static codec::json::object user(const std::string& text) {
    codec::json::object data;
    data["message"] = to_json(Message::of(Role::kUser, text));
    return data;
  }
  static codec::json::object with(const char* name, const char* value) {
    codec::json::object data;
    data[name] = value;
    return data;
  }
  const cay::testing::TempDir dir_;
  const std::string path_ = dir_.path() + "/a/b/threads.db";
};

TEST_F(ThreadLogTest, EventsAreNumberedAndOutliveTheLog) {
  auto log = open();
  const auto id = *log->create("");
  ASSERT_TRUE(log->lease(id));
  EXPECT_EQ(log->append(id, "thread_created", {})->seq, 1U);
  EXPECT_EQ(log->append(id, "user_message", user("Build\nit"))->seq, 2U);
  EXPECT_EQ(log->append(id, "run_started", with("run", "r"))->seq, 3U);
  EXPECT_EQ(log->info(id)->state, "running");
  ASSERT_TRUE(log->append(id, "run_ended", with("state", "done")));
  log = open();
  const auto events = *log->events(id, 2);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].type, "run_started");
  EXPECT_EQ(events[0].data.at("run").as_string(), "r");
  const auto info = *log->info(id);
  EXPECT_EQ(info.title, "Build it");
  EXPECT_EQ(info.state, "done");
  EXPECT_EQ(info.events, 4U);
  const auto text = *export_jsonl(*log, id);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  EXPECT_TRUE(text.starts_with(R"({"seq":1,"type":"thread_created","at":")"));
  const auto line = text.substr(0, text.find('\n'));
  const auto read = event_from_json(*codec::parse_object(line));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->at_ms, (*log->events(id))[0].at_ms);
}

TEST_F(ThreadLogTest, OnlyItsOwnerReadsTheFiles) {
  auto log = open();
  const auto id = *log->create("");
  ASSERT_TRUE(log->lease(id));
  ASSERT_TRUE(log->append(id, "thread_created", {}));
  for (const char* suffix : {"", "-wal", "-shm", ".lock"}) {
    struct stat found{};
    ASSERT_EQ(::stat((path_ + suffix).c_str(), &found), 0) << suffix;
    EXPECT_EQ(found.st_mode & 0777U, 0600U) << suffix;
  }
  struct stat directory{};
  ASSERT_EQ(::stat((dir_.path() + "/a/b").c_str(), &directory), 0);
  EXPECT_EQ(directory.st_mode & 0777U, 0700U);
}

TEST_F(ThreadLogTest, AProcessThatIsKilledGivesItsLeaseBack) {
  auto log = open();
  const auto id = *log->create("");
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto other = ThreadLog::open(path_);
    const bool leased = other && (*other)->lease(id);
    const char byte = leased ? '1' : '0';
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, '1');
  const auto busy = log->lease(id);
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().reason, "thread_busy");
  const auto unleased = log->append(id, "user_message", user("x"));
  ASSERT_FALSE(unleased);
  EXPECT_EQ(unleased.error().reason, "thread_busy");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(log->lease(id));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(ThreadLogTest, ManyProcessesMakeTheFileAtOnce) {
  constexpr int kProcesses = 12;
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(gate[1]);
      char byte = 0;
      if (::read(gate[0], &byte, 1) != 0) ::_exit(2);  // the end: all begin
      auto log = ThreadLog::open(path_);
      ::_exit(log && (*log)->create("") ? 0 : 1);
    }
    children.push_back(child);
  }
  ::close(gate[0]);
  ::close(gate[1]);
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(open()->list()->size(), static_cast<std::size_t>(kProcesses));
}

TEST_F(ThreadLogTest, AThreadHasWhatItsRunsHaveSpent) {
  auto log = open();
  const auto id = *log->create("");
  ASSERT_TRUE(log->lease(id));
  const auto ended = [&](const char* run, std::uint64_t input, codec::json::object more) {
    more["run"] = run;
    more["usage"] = to_json(Usage{input, 1, 0, 0});
    ASSERT_TRUE(log->append(id, "run_ended", std::move(more)));
  };
  ended("run-1", 10, {{"state", "waiting"}, {"cost", 0.5}});
  ended("run-1", 30, {{"state", "done"}, {"cost", 1.5}});
  ended("run-9", 5, {{"state", "done"}, {"cost", 0.25}});
  EXPECT_EQ(log->info(id)->spent.usage, (Usage{35, 2, 0, 0})) << "of each run its last end";
  EXPECT_EQ(log->info(id)->spent.known_cost(), 1.75);
  ended("run-12", 1, {{"state", "done"}});
  EXPECT_FALSE(log->info(id)->spent.known_cost()) << "an answer without a price";
}

TEST_F(ThreadLogTest, AForkCopiesAndARemovalTakesSubagentsAlong) {
  auto log = open();
  const auto id = *log->create("");
  const auto child = *log->create(id, id + "-3-0");
  ASSERT_TRUE(log->lease(id));
  ASSERT_TRUE(log->append(id, "thread_created", {}));
  ASSERT_TRUE(log->append(id, "user_message", user("one")));
  ASSERT_TRUE(log->append(id, "user_message", user("two")));
  const auto copy = *log->fork(id, 2);
  const auto events = *log->events(copy);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[2].type, "forked");
  EXPECT_EQ(events[2].data.at("from").as_string(), id);
  EXPECT_EQ(log->fork(id, 9).error().reason, "no_such_event");
  EXPECT_EQ(log->list()->size(), 2U);
  EXPECT_EQ(log->create("", id).error().reason, "thread_exists");
  const auto grandchild = *log->create(child);
  auto below = *log->below(id);
  std::ranges::sort(below);
  std::vector<std::string> expected{child, grandchild};
  std::ranges::sort(expected);
  EXPECT_EQ(below, expected);
  EXPECT_TRUE(log->below(copy)->empty());
  ASSERT_TRUE(log->remove(id));
  EXPECT_EQ(log->events(id).error().reason, "thread_not_found");
  EXPECT_EQ(log->list(true)->size(), 1U);
}

}  // namespace
}  // namespace cay::agent
