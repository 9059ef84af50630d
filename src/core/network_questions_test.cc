#include "core/core_fixture.h"

namespace cay::core {
namespace {

class NetworkQuestionsTest : public CoreTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(open());
    ASSERT_TRUE(create("box"));
    runtime.asked.push_back(
        {.id = "q1", .host = "a.test", .port = 443, .asked_at = 1, .expires_at = 2, .waiting = 1});
  }
  Result<NetworkQuestion> answer(bool allowed, bool always, const char* id = "q1") {
    return run(core->policies().answer(alice, "box",
                                       {.question = id, .allowed = allowed, .always = always}));
  }
  Sandbox box() { return *run(core->sandboxes().get(alice, "box")); }
};

TEST_F(NetworkQuestionsTest, AnAnswerOnceChangesNoPolicy) {
  const auto before = box();
  ASSERT_TRUE(answer(true, false));
  EXPECT_EQ(runtime.answers, std::vector<std::string>{"allow q1"});
  EXPECT_EQ(box().policy, before.policy);
  EXPECT_EQ(box().rules, before.rules);
  EXPECT_EQ(answer(true, false).error().reason, "question_not_found") << "it is answered";
}

TEST_F(NetworkQuestionsTest, AnAnswerForAlwaysIsARuleOfThePolicy) {
  ASSERT_TRUE(answer(true, true));
  EXPECT_EQ(box().policy, "rules");
  EXPECT_EQ(box().rules, "default ask\n@packages\na.test:443");
  ASSERT_TRUE(answer(false, true));
  EXPECT_EQ(box().rules, "default ask\n@packages\na.test:443\n!a.test:443");
}

TEST_F(NetworkQuestionsTest, AreTheTenantsOwn) {
  EXPECT_EQ(run(core->policies().questions(bob, "box", {})).error().reason, "sandbox_not_found");
  EXPECT_EQ(run(core->policies().answer(bob, "box", {.question = "q1"})).error().reason,
            "sandbox_not_found");
  EXPECT_EQ(run(core->policies().questions(alice, "box", {}))->size(), 1U);
  EXPECT_EQ(answer(true, false, "q2").error().reason, "question_not_found");
}

}  // namespace
}  // namespace cay::core
