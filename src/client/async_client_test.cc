// AsyncClient: one verb or more of each family, over a scripted daemon.
#include "cay/async_client.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "cay/async_contexts.h"
#include "client/async_state.h"
#include "client/testing/fake_http.h"

namespace cay::sdk {
namespace {

using client::testing::FakeHttp;

class AsyncClientTest : public ::testing::Test {
 protected:
  // Runs `story` to its end.
  template <class T>
  void run(Awaitable<T> story) {
    asio::co_spawn(loop_, std::move(story), [](std::exception_ptr thrown) {
      if (thrown) std::rethrow_exception(thrown);
    });
    loop_.restart();
    loop_.run();
  }
  // Each answer once, the last one again and again.
  void answers(std::vector<std::string> bodies) {
    log->answer = [bodies, next = std::size_t{0}](const std::string&) mutable {
      const std::string& body = bodies[std::min(next++, bodies.size() - 1)];
      return Result<http::Response>(http::Response{200, {}, body});
    };
  }
  const std::string& last() const { return log->requests.back(); }

 private:
  static ClientOptions options() {
    ClientOptions out;
    out.api_key = "key";
    return out;
  }
  asio::io_context loop_;

 protected:
  std::shared_ptr<FakeHttp::Log> log = std::make_shared<FakeHttp::Log>();
  AsyncClient cay{std::make_shared<AsyncState>(loop_.get_executor(), options(),
                                               std::make_unique<FakeHttp>(log))};
  AsyncSandbox box = cay.sandbox("box");
};

TEST_F(AsyncClientTest, AClaimsSandboxIsFoundOrMade) {
  answers({R"({"id":"i","name":"box","claim":"thread:1","created":true})",
           R"({"id":"i","name":"box","claim":"thread:1","created":false})"});
  run([](AsyncClient at, FakeHttp::Log& seen) -> Awaitable<void> {
    const auto made = co_await at.ensure("thread:1");
    EXPECT_TRUE(made.created);
    EXPECT_EQ(made.sandbox.ref(), "i");
    EXPECT_EQ(made.info.claim, "thread:1");
    EXPECT_TRUE(seen.requests.back().starts_with("POST /api/v1/sandboxes/ensure "));
    EXPECT_NE(seen.requests.back().find(R"("claim":"thread:1")"), std::string::npos);
    const auto found = co_await at.ensure("thread:1");
    EXPECT_FALSE(found.created);
  }(cay, *log));
}

TEST_F(AsyncClientTest, CodeRunsInASandboxAndInOneOfItsOwn) {
  answers({R"({"language":"python","phase":"run","ok":true,"stdout":"4\n"})"});
  run([](AsyncSandbox in, AsyncClient at, FakeHttp::Log& seen) -> Awaitable<void> {
    CodeOptions options{.language = "python"};
    const auto got = co_await in.run_code("print(4)", options);
    EXPECT_TRUE(got.ok);
    EXPECT_EQ(got.out, "4\n");
    EXPECT_TRUE(seen.requests.back().starts_with("POST /api/v1/sandboxes/box/code "));
    const auto once = co_await at.run_code("print(4)", options);
    EXPECT_EQ(once.out, "4\n");
    EXPECT_TRUE(seen.requests.back().starts_with("POST /api/v1/code "));
  }(box, cay, *log));
}

TEST_F(AsyncClientTest, CommandsAreStartedFoundAndForgotten) {
  answers({R"({"id":"c1","state":"running","argv":["sleep","9"]})"});
  run([](AsyncSandbox in, FakeHttp::Log& seen) -> Awaitable<void> {
    std::vector<std::string> argv{"sleep", "9"};
    const auto begun = co_await in.start_detached(argv);
    EXPECT_EQ(begun.id, "c1");
    const auto found = co_await in.command("c1");
    EXPECT_EQ(found.argv, argv);
    co_await in.forget("c1");
    EXPECT_EQ(seen.requests.back(), "DELETE /api/v1/sandboxes/box/commands/c1");
  }(box, *log));
}

TEST_F(AsyncClientTest, FilesAreFoundAndMoved) {
  answers({R"({"path":"/a","kind":"file","size":3,"items":[{"path":"/a","line":2,"text":"x"}]})"});
  run([](AsyncSandbox in, FakeHttp::Log& seen) -> Awaitable<void> {
    const auto info = co_await in.stat("/a");
    EXPECT_EQ(info.size, 3u);
    const auto matches = co_await in.grep("/", "x");
    EXPECT_EQ(matches.at(0).line, 2u);
    co_await in.make_directory("/d", "daemon");
    EXPECT_EQ(seen.requests.back(),
              R"(POST /api/v1/sandboxes/box/files/mkdir {"path":"/d","user":"daemon"})");
  }(box, *log));
}

TEST_F(AsyncClientTest, ChangesOfFilesSendTheSameAsTheSynchronousClient) {
  answers({R"({"entries":2,"bytes":7})"});
  run([](AsyncSandbox in, FakeHttp::Log& seen) -> Awaitable<void> {
    const auto changed = co_await in.set_mode("/d", 0750, true);
    EXPECT_EQ(changed.entries, 2u);
    EXPECT_EQ(seen.requests.back(),
              R"(POST /api/v1/sandboxes/box/files/chmod {"path":"/d","mode":"0750",)"
              R"("recursive":true})");
    co_await in.set_owner("/d", "daemon", false, "root");
    EXPECT_EQ(seen.requests.back(),
              R"(POST /api/v1/sandboxes/box/files/chown {"path":"/d","owner":"daemon",)"
              R"("recursive":false,"user":"root"})");
    const auto copied = co_await in.copy("/d", "/e", true);
    EXPECT_EQ(copied.bytes, 7u);
    EXPECT_EQ(seen.requests.back(),
              R"(POST /api/v1/sandboxes/box/files/copy {"from":"/d","to":"/e",)"
              R"("exclusive":true,"recursive":true})");
    co_await in.move("/d", "/e");
    EXPECT_EQ(seen.requests.back(),
              R"(POST /api/v1/sandboxes/box/files/move {"from":"/d","to":"/e",)"
              R"("exclusive":false})");
  }(box, *log));
  answers({R"({"items":[{"path":"/d/f","count":2}],"truncated":true})"});
  run([](AsyncSandbox in) -> Awaitable<void> {
    const auto report = co_await in.replace("/d", "a", "b", "*.txt");
    EXPECT_EQ(report.files.at(0).count, 2u);
    EXPECT_TRUE(report.truncated);
  }(box));
  EXPECT_EQ(last(), R"(POST /api/v1/sandboxes/box/files/replace {"path":"/d","text":"a",)"
                    R"("replacement":"b","glob":"*.txt"})");
}

TEST_F(AsyncClientTest, AWatchIsReadFromANumber) {
  answers({R"({"id":"w1"})",
           R"({"items":[{"seq":4,"kind":"moved","path":"/a","to":"/b"}],"next_after":4})"});
  run([](AsyncSandbox in, FakeHttp::Log& seen) -> Awaitable<void> {
    const auto id = co_await in.watch("/d");
    const auto events = co_await in.watch_events(id, 3, 20);
    EXPECT_EQ(events.items.at(0).to, "/b");
    EXPECT_EQ(events.next_after, 4u);
    EXPECT_EQ(seen.requests.back(),
              "GET /api/v1/sandboxes/box/watches/w1/events?after=3&wait_s=20");
    co_await in.end_watch(id);
    EXPECT_EQ(seen.requests.back(), "DELETE /api/v1/sandboxes/box/watches/w1");
  }(box, *log));
}

TEST_F(AsyncClientTest, ACaptureIsWaitedForWithItsProgress) {
  answers({R"({"id":"s1","status":"building"})",
           R"({"id":"s1","status":"building","status_message":"half"})",
           R"({"id":"s1","name":"tools","status":"ready"})"});
  run([](AsyncSandbox in, AsyncClient at) -> Awaitable<void> {
    const auto begun = co_await in.capture("tools");
    std::vector<std::string> told;
    const SnapshotProgress note = [&told](const Snapshot& now) {
      told.push_back(now.status_message);
    };
    const auto made = co_await at.snapshot_store().wait(begun.id, note);
    EXPECT_EQ(made.name, "tools");
    EXPECT_EQ(told, std::vector<std::string>{"half"});
  }(box, cay));
  answers({R"({"id":"s1","status":"failed","status_message":"no room"})"});
  run([](AsyncClient at) -> Awaitable<void> {
    try {
      co_await at.snapshot_store().wait("s1");
      ADD_FAILURE() << "it failed";
    } catch (const ApiError& error) {
      EXPECT_EQ(error.reason(), "snapshot_failed");
      EXPECT_STREQ(error.what(), "no room");
    }
  }(cay));
}

TEST_F(AsyncClientTest, ForksAndDifferences) {
  answers({R"({"items":[{"id":"f1","name":"one"},{"id":"f2","name":"two"}]})"});
  run([](AsyncSandbox in) -> Awaitable<void> {
    const auto made = co_await in.fork({.count = 2});
    EXPECT_EQ(made.at(1).name, "two");
  }(box));
  EXPECT_EQ(last(), R"(POST /api/v1/sandboxes/box/fork {"count":2})");
  answers({R"({"change":"added","path":"/x","after":{"kind":"file","mode":"0644"}})"
           "\n"
           R"({"end":true,"added":1,"changed":0,"deleted":0})"
           "\n"});
  run([](AsyncSandbox in) -> Awaitable<void> {
    std::vector<std::string> paths;
    const OnChange note = [&paths](const DiskChange& change) { paths.push_back(change.path); };
    const auto sums = co_await in.diff(note);
    EXPECT_EQ(sums.added, 1u);
    EXPECT_EQ(paths, std::vector<std::string>{"/x"});
  }(box));
}

TEST_F(AsyncClientTest, AnEvaluationIsReadToItsEnd) {
  answers({R"({"id":"e1","state":"running","next":"9","events":[{"type":"stdout","text":"a"}]})",
           R"({"id":"e1","state":"ok","next":"12","events":[{"type":"stdout","text":"b"},)"
           R"({"type":"result","data":{"text/plain":"2"}}]})"});
  run([](AsyncClient at, FakeHttp::Log& seen) -> Awaitable<void> {
    const AsyncContexts contexts(at, "box");
    const auto got = co_await contexts.run("c", "1 + 1");
    EXPECT_EQ(got.text(), "ab");
    EXPECT_EQ(got.value(), "2");
    EXPECT_EQ(seen.requests.at(0),
              R"(POST /api/v1/sandboxes/box/contexts/c/run {"code":"1 + 1","wait_s":30})");
    EXPECT_EQ(seen.requests.at(1), "GET /api/v1/sandboxes/box/contexts/c/runs/e1?wait_s=30&from=9");
    co_await contexts.interrupt("c");
    EXPECT_EQ(seen.requests.back(), "POST /api/v1/sandboxes/box/contexts/c/interrupt");
  }(cay, *log));
}

TEST_F(AsyncClientTest, TheEventsOfAnEvaluationComeOneByOne) {
  answers({R"({"id":"e1","state":"running","next":"9","events":[{"type":"stdout","text":"a"}]})",
           R"({"id":"e1","state":"running","next":"12","events":[{"type":"stdout","text":"b"}]})",
           R"({"id":"e1","state":"ok","next":"14","events":[]})"});
  run([](AsyncClient at, FakeHttp::Log& seen) -> Awaitable<void> {
    const AsyncContexts contexts(at, "box");
    std::string told;
    const Contexts::OnEvent note = [&told](const ContextEvent& event) { told += event.text; };
    const auto got = co_await contexts.run("c", "print(1)", note);
    EXPECT_EQ(told, "ab");
    EXPECT_EQ(got.state, "ok");
    EXPECT_EQ(seen.requests.back(),
              "GET /api/v1/sandboxes/box/contexts/c/runs/e1?until=event&wait_s=30&from=12");
  }(cay, *log));
}

TEST_F(AsyncClientTest, VolumesAreMadeAndListed) {
  answers({R"({"id":"v1","name":"data","disk_bytes":1024,"items":[{"name":"data"}]})"});
  run([](AsyncClient at, FakeHttp::Log& seen) -> Awaitable<void> {
    const auto store = at.volume_store();
    const auto made = co_await store.create("data", 1024);
    EXPECT_EQ(made.disk_bytes, 1024u);
    EXPECT_EQ(seen.requests.back(), R"(POST /api/v1/volumes {"name":"data","disk_bytes":1024})");
    const auto all = co_await store.list();
    EXPECT_EQ(all.at(0).name, "data");
  }(cay, *log));
}

TEST_F(AsyncClientTest, AnErrorIsThrownWithItsReason) {
  log->answer = [](const std::string&) {
    return Result<http::Response>(http::Response{
        404, {}, R"({"error":{"code":"not_found","reason":"file_not_found","message":"no"}})"});
  };
  run([](AsyncSandbox in) -> Awaitable<void> {
    try {
      co_await in.copy("/a", "/b");
      ADD_FAILURE() << "it failed";
    } catch (const ApiError& error) {
      EXPECT_EQ(error.reason(), "file_not_found");
      EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    }
  }(box));
}

}  // namespace
}  // namespace cay::sdk
