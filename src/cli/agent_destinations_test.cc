#include "cli/agent_destinations.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <mutex>

#include "client/errors.h"

namespace cay::cli {
namespace {

constexpr const char* kOpen =
    R"({"items":[{"id":"q1","host":"a.test","port":443,"expires_at":"t"},)"
    R"({"id":"q2","host":"2001:db8::1","port":22,"expires_at":"t"}]})";

// A daemon with two questions, each answered once.
struct FakeDaemon {
  std::mutex mutex;
  std::vector<std::string> posts;
  std::promise<void> both;

  std::string take(const std::string& method, const std::string& target, const std::string& body) {
    if (method == "GET") return kOpen;
    const std::scoped_lock lock(mutex);
    posts.push_back(target + " " + body);
    if (posts.size() == 2) both.set_value();
    return "{}";
  }
  DestinationFace face() {
    return {.request = [this](const std::string& method, const std::string& target,
                              const std::string& body) { return take(method, target, body); },
            .answer = {},
            .note = [](std::string_view) {}};
  }
};

TEST(AgentDestinationsTest, ReadsQuestionsAndAnswers) {
  const auto open = destinations_in("box", kOpen);
  ASSERT_EQ(open.size(), 2U);
  EXPECT_EQ(open[0].text(), "a.test:443");
  EXPECT_EQ(open[1].text(), "[2001:db8::1]:22");
  EXPECT_TRUE(destinations_in("box", R"({"items":[]})").empty());
  EXPECT_EQ(destination_answer("o"), (DestinationAnswer{.allowed = true, .always = false}));
  EXPECT_EQ(destination_answer(" always \r"), (DestinationAnswer{.allowed = true, .always = true}));
  EXPECT_EQ(destination_answer("no"), DestinationAnswer{});
  for (const char* unclear : {"", "y", "maybe", "onc"}) EXPECT_FALSE(destination_answer(unclear));
}

TEST(AgentDestinationsTest, EachQuestionIsShownOnceAndItsAnswerPassedOn) {
  FakeDaemon daemon;
  auto face = daemon.face();
  face.answer = [](const Destination& one, const std::function<bool()>& is_over) {
    EXPECT_FALSE(is_over());
    return std::optional(DestinationAnswer{.allowed = one.id == "q1", .always = one.id == "q1"});
  };
  DestinationWatch watch(std::move(face));
  watch.add("box");
  {
    const DestinationWatch::Watching watching(watch);
    daemon.both.get_future().wait();
  }
  EXPECT_EQ(daemon.posts, (std::vector<std::string>{"/api/v1/sandboxes/box/network/questions/q1 "
                                                    R"({"verdict":"allow","for":"always"})",
                                                    "/api/v1/sandboxes/box/network/questions/q2 "
                                                    R"({"verdict":"deny","for":"once"})"}));
}

TEST(AgentDestinationsTest, WithoutSomebodyEachIsRefused) {
  FakeDaemon daemon;
  std::string notes;
  auto face = daemon.face();
  face.note = [&](std::string_view text) { notes += text; };
  DestinationWatch watch(unattended_destinations(std::move(face)));
  watch.add("box");
  {
    const DestinationWatch::Watching watching(watch);
    daemon.both.get_future().wait();
  }
  EXPECT_NE(daemon.posts[0].find("deny"), std::string::npos);
  EXPECT_NE(notes.find("refused a.test:443"), std::string::npos) << notes;
}

TEST(AgentDestinationsTest, ForProgramsAQuestionIsALine) {
  std::string written;
  const auto face = json_destinations({}, [&](std::string_view text) { written += text; });
  EXPECT_FALSE(face.answer(destinations_in("box", kOpen)[0], [] { return false; }));
  EXPECT_EQ(written,
            R"({"type":"network_asked","sandbox":"box","id":"q1","host":"a.test","port":"443",)"
            R"("expires_at":"t"})"
            "\n");
}

}  // namespace
}  // namespace cay::cli
