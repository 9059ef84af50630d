#include "gate/questions.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>

#include "async/scope.h"
#include "async/testing.h"
#include "base/testing/temp_dir.h"
#include "gate/egress_policy.h"
#include "gate/stand_ins.h"
#include "os/file.h"

namespace cay::gate {
namespace {

class QuestionsTest : public ::testing::Test {
 protected:
  struct Held {
    std::optional<Questions::Answer> answer;
    UniqueFd peer;
  };

  Questions made(Questions::Limits limits, std::vector<std::string> allowed = {}) {
    EXPECT_TRUE(os::replace_file(directory_.get(), "id.sock", "", 0600));
    auto policies = policy::Catalogue::make({}, std::move(allowed));
    return {loop_.get_executor(), directory_.get(), "id",
            std::make_shared<const policy::Catalogue>(*std::move(policies)), limits};
  }
  std::shared_ptr<Held> ask(Questions& questions, const std::string& host, std::uint16_t port) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    auto held = std::make_shared<Held>();
    held->peer = UniqueFd(ends[1]);
    asking_.spawn(wait(questions, Descriptor(loop_, ends[0]), host, port, held));
    loop_.restart();  // it stops where nobody waits any more
    loop_.poll();
    loop_.restart();
    return held;
  }
  static asio::awaitable<void> wait(Questions& questions, Descriptor client, std::string host,
                                    std::uint16_t port, std::shared_ptr<Held> held) {
    auto answer = co_await questions.ask(client, std::move(host), port);
    held->answer = std::move(answer);
  }
  void run_until_answered(const Held& held) {
    while (!held.answer) loop_.run_one();
  }
  wire::AskedFile written(Questions& questions) {
    questions.write();
    const auto text = os::read_file(directory_.get(), "id.questions", wire::kMostQuestionsFile);
    return text ? wire::decode<wire::AskedFile>(*text).value_or(wire::AskedFile{})
                : wire::AskedFile{};
  }

  const cay::testing::TempDir temp_;
  const UniqueFd directory_ = temp_.open();
  asio::io_context loop_;
  Scope asking_{loop_.get_executor()};
};

constexpr Questions::Limits kLong{.open = Millis{60'000}, .answer_holds = Millis{60'000}};

TEST_F(QuestionsTest, ConnectionsToOneDestinationShareAQuestionAndItsAnswer) {
  Questions questions = made(kLong);
  const auto first = ask(questions, "a.test", 443);
  const auto second = ask(questions, "a.test", 443);
  const auto other = ask(questions, "a.test", 80);
  EXPECT_FALSE(first->answer) << "it is held";
  const auto file = written(questions);
  ASSERT_EQ(file.open.size(), 2U);
  const auto& shown = file.open[0].port == 443 ? file.open[0] : file.open[1];
  EXPECT_EQ(shown.host, "a.test");
  EXPECT_EQ(shown.waiting, 2U);
  EXPECT_EQ(shown.id.size(), 32U);
  questions.answer("0123", true);
  questions.answer(shown.id, true);
  questions.answer(shown.id, false);  // the first one counts
  run_until_answered(*first);
  run_until_answered(*second);
  ASSERT_TRUE(first->answer->grant);
  EXPECT_TRUE(second->answer->grant);
  EXPECT_EQ(first->answer->grant->rules().text(), "a.test:443");
  EXPECT_FALSE(other->answer) << "another port is another question";
  const auto again = ask(questions, "a.test", 443);
  ASSERT_TRUE(again->answer) << "the answer holds for a while";
  EXPECT_TRUE(again->answer->grant);
  ASSERT_EQ(written(questions).ended.size(), 1U);
  EXPECT_EQ(written(questions).ended[0].how, "allowed");
  asking_.cancel();
  loop_.run();
}

TEST_F(QuestionsTest, ARefusalHoldsToo) {
  Questions questions = made(kLong);
  const auto first = ask(questions, "192.0.2.7", 5432);
  questions.answer(written(questions).open.at(0).id, false);
  run_until_answered(*first);
  EXPECT_STREQ(first->answer->reason, kAnswerDenied);
  EXPECT_STREQ(ask(questions, "192.0.2.7", 5432)->answer->reason, kAnswerDenied);
}

TEST_F(QuestionsTest, WithoutAnAnswerItIsRefusedInTime) {
  Questions questions = made({.open = Millis{5}, .answer_holds = Millis{5}});
  const auto held = ask(questions, "a.test", 443);
  run_until_answered(*held);
  EXPECT_STREQ(held->answer->reason, kNotAnswered);
  const auto file = written(questions);
  EXPECT_TRUE(file.open.empty());
  EXPECT_EQ(file.ended.at(0).how, "expired");
  questions.answer(file.ended[0].id, true);
  const auto next = ask(questions, "a.test", 443);
  EXPECT_FALSE(next->answer && next->answer->grant) << "an answer that came late allows nothing";
  run_until_answered(*next);
}

TEST_F(QuestionsTest, AClientThatLeftIsHeldNoLonger) {
  Questions questions = made(kLong);
  const auto held = ask(questions, "a.test", 443);
  held->peer.reset();
  run_until_answered(*held);
  EXPECT_STREQ(held->answer->reason, kClientLeft);
  EXPECT_EQ(written(questions).open.at(0).waiting, 0U) << "its next try finds the answer";
}

TEST_F(QuestionsTest, AreBounded) {
  Questions questions = made(kLong);
  std::vector<std::shared_ptr<Held>> all;
  for (std::size_t i = 0; i < Questions::kMostOpen; ++i)
    all.push_back(ask(questions, "h" + std::to_string(i) + ".test", 443));
  EXPECT_STREQ(ask(questions, "more.test", 443)->answer->reason, kTooManyQuestions);
  all[3]->peer.reset();
  run_until_answered(*all[3]);
  const auto next = ask(questions, "more.test", 443);
  EXPECT_FALSE(next->answer) << "one that nobody waits for made room";
  while (all.size() < Questions::kMostHeld) all.push_back(ask(questions, "h0.test", 443));
  EXPECT_STREQ(ask(questions, "h0.test", 443)->answer->reason, kTooManyQuestions);
  asking_.cancel();
  loop_.run();
}

TEST_F(QuestionsTest, AChangedPolicyEndsThoseThatItDecides) {
  Questions questions = made(kLong);
  const auto first = ask(questions, "a.test", 443), second = ask(questions, "b.test", 443);
  questions.policy_changed([](const std::string& host, std::uint16_t) { return host == "a.test"; });
  run_until_answered(*first);
  run_until_answered(*second);
  EXPECT_TRUE(first->answer->policy_changed());
  EXPECT_TRUE(second->answer->policy_changed()) << "it is judged anew, and asked about again";
  const auto file = written(questions);
  ASSERT_EQ(file.open.size(), 1U);
  EXPECT_EQ(file.open[0].host, "b.test");
}

TEST_F(QuestionsTest, NobodyIsAskedAboutWhatTheOperatorRefuses) {
  Questions questions = made(kLong, {"pip"});
  EXPECT_STREQ(ask(questions, "a.test", 443)->answer->reason, "not_in_policy");
  EXPECT_FALSE(ask(questions, "pypi.org", 443)->answer);
  asking_.cancel();
  loop_.run();
}

TEST_F(QuestionsTest, AnotherGateBeginsWithoutQuestions) {
  ASSERT_TRUE(os::replace_file(directory_.get(), "id.questions", "of a killed gate", 0640));
  Questions questions = made(kLong);
  EXPECT_FALSE(os::read_file(directory_.get(), "id.questions", 100));
}

EgressPolicy asking(const std::string& rules) {
  return EgressPolicy({std::string(policy::kOwnRules), "default ask\n" + rules},
                      policy::Catalogue());
}

Grant grant_of(const std::string& rule) {
  auto rules = policy::parse_rules(rule);
  return std::make_shared<const policy::Policy>(*std::move(rules),
                                                [](std::string_view) { return nullptr; });
}

TEST(AskingPolicyTest, AsksWhereNoRuleDecides) {
  const auto policy = asking("a.test\n!bad.test");
  const auto verdict_of = [&](const std::string& host) {
    return policy.decide(
        {.names = {host}, .shown = host, .to = {*IpAddress::parse("198.51.100.7"), 443}});
  };
  EXPECT_TRUE(verdict_of("a.test").allowed());
  EXPECT_FALSE(policy.asks_after(verdict_of("a.test")));
  EXPECT_FALSE(policy.asks_after(verdict_of("bad.test"))) << "a rule refuses it";
  EXPECT_TRUE(policy.asks_after(verdict_of("new.test")));
  const EgressPolicy denies({std::string(policy::kOwnRules), "a.test"}, policy::Catalogue());
  EXPECT_FALSE(denies.asks_after({})) << "without the word nobody is asked";
}

TEST(AskingPolicyTest, AGrantIsForItsHostAndPortAlone) {
  const auto policy = asking("!bad.test");
  Facts facts{.names = {"new.test"},
              .shown = "new.test",
              .to = {*IpAddress::parse("198.51.100.7"), 443},
              .granted = grant_of("new.test:443")};
  EXPECT_TRUE(policy.decide(facts).allowed());
  EXPECT_EQ(policy.decide(facts).rule, "once: new.test:443");
  facts.shown = "other.test";
  EXPECT_FALSE(policy.decide(facts).allowed()) << "the name that is shown counts";
  facts.shown = "new.test";
  facts.to.port = 8443;
  EXPECT_FALSE(policy.decide(facts).allowed());
  Facts refused{.names = {"bad.test"},
                .shown = "bad.test",
                .to = {*IpAddress::parse("198.51.100.7"), 443},
                .granted = grant_of("bad.test:443")};
  EXPECT_FALSE(policy.decide(refused).allowed()) << "a rule that refuses counts before";
  facts.to.port = 443;
  EXPECT_FALSE(EgressPolicy({"pip"}, policy::Catalogue()).decide(facts).allowed())
      << "a policy that does not ask ends what was granted";
}

TEST(StandInsTest, AreReservedAndApartFromTheProxys) {
  for (const char* name : {"a.test", "b.test", "xn--e1afmkfd.test", ""}) {
    const auto one = asked_stand_in(name);
    EXPECT_TRUE(is_asked_stand_in(one)) << one.text();
    EXPECT_TRUE(is_special(one));
    EXPECT_EQ(one, asked_stand_in(name));
    EXPECT_FALSE(is_asked_stand_in(stand_in_of(name, 240, 7)));
  }
}

}  // namespace
}  // namespace cay::gate
