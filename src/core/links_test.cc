#include "core/core_fixture.h"

namespace cay::core {
namespace {

class LinksTest : public CoreTest {
 protected:
  LinksTest() {
    EXPECT_TRUE(open());
    id = create("box")->id;
  }
  IssuedLink issue(std::uint16_t port = 8080, std::int64_t lifetime_s = 60) {
    auto got =
        run(core->links().issue(alice, "box", LinkSpec{.port = port, .lifetime_s = lifetime_s}));
    EXPECT_TRUE(got);
    return got ? *std::move(got) : IssuedLink();
  }
  std::string refusal(const std::string& token, const SandboxId& sandbox,
                      std::uint16_t port = 8080) {
    const auto got = core->links().use(token, sandbox, port);
    return got ? "" : got.error().reason;
  }
  SandboxId id;
};

TEST_F(LinksTest, ATokenIsGoodForOneSandboxAndOnePort) {
  const auto link = issue();
  const auto other = create("other")->id;
  EXPECT_EQ(refusal(link.token, id), "");
  EXPECT_EQ(core->links().use(link.token, id, 8080)->link.created_by, alice.key_name);
  EXPECT_EQ(refusal(link.token, id, 8081), "unknown_link");
  EXPECT_EQ(refusal(link.token, id, 0), "unknown_link");
  EXPECT_EQ(refusal(link.token, other), "unknown_link");
  EXPECT_EQ(refusal(link.token + "x", id), "unknown_link");
  EXPECT_EQ(refusal(link.token.substr(0, link.token.size() - 1), id), "unknown_link");
  for (const char* text : {"", "cayl_", "cayl__", "a.b.c"})
    EXPECT_EQ(refusal(text, id), "unknown_link");
  // The stored hash opens nothing.
  EXPECT_EQ(refusal(link_token(link.link.id, to_hex(store.link_rows.at(link.link.id).hash)), id),
            "unknown_link");
}

TEST_F(LinksTest, ItExpiresByTimeThatNoClockSettingMoves) {
  const auto link = issue(8080, 60);
  clock.advance(std::chrono::seconds(59));
  EXPECT_EQ(refusal(link.token, id), "");
  clock.advance(std::chrono::seconds(2));
  EXPECT_EQ(refusal(link.token, id), "link_expired");
  EXPECT_TRUE(run(core->links().list(alice, "box"))->empty());
  EXPECT_EQ(refusal(link_token(link.link.id, "guess"), id), "unknown_link")
      << "only its bearer is told that it was good once";
}

TEST_F(LinksTest, WithdrawnLinksEndAtOnce) {
  const auto one = issue(), two = issue(), third = issue(9090);
  const auto open = core->links().use(one.token, id, 8080);
  EXPECT_EQ(run(core->links().list(alice, "box"))->size(), 3U);
  EXPECT_EQ(run(core->links().withdraw(bob, "box", one.link.id)).error().reason,
            "sandbox_not_found");
  EXPECT_FALSE(open->ended->is_set());
  EXPECT_TRUE(run(core->links().withdraw(alice, "box", one.link.id)));
  EXPECT_TRUE(open->ended->is_set());
  EXPECT_EQ(refusal(one.token, id), "unknown_link");
  EXPECT_EQ(run(core->links().withdraw(alice, "box", one.link.id)).error().reason,
            "link_not_found");
  EXPECT_EQ(*run(core->links().withdraw_all(alice, "box", 8080)), 1U);
  EXPECT_EQ(refusal(two.token, id), "unknown_link");
  EXPECT_EQ(refusal(third.token, id, 9090), "");
  EXPECT_EQ(*run(core->links().withdraw_all(alice, "box", std::nullopt)), 1U);
  EXPECT_TRUE(store.link_rows.empty());
}

TEST_F(LinksTest, TheyOutliveTheDaemonAndGoWithTheSandbox) {
  const auto link = issue();
  ASSERT_TRUE(open());
  EXPECT_EQ(refusal(link.token, id), "");
  const auto in_use = core->links().use(link.token, id, 8080);
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "box")));
  EXPECT_TRUE(in_use->ended->is_set());
  EXPECT_EQ(refusal(link.token, id), "unknown_link");
}

TEST_F(LinksTest, WhatIsOpenEndsWithItsTimeAndItsKey) {
  const auto one = issue(8080, 60), long_lived = issue(8080, 600);
  const auto file =
      run(core->links().issue(alice, "box", LinkSpec{.path = "/a", .lifetime_s = 60}));
  std::string dead_key;
  const auto look = [&] {
    core->links().end_lapsed([&](const Link& link) { return link.created_by != dead_key; });
  };
  const auto brief = core->links().use(one.token, id, 8080);
  const auto stays = core->links().use(long_lived.token, id, 8080);
  const auto download = core->links().use(file->token, id, 0);
  clock.advance(std::chrono::seconds(59));
  look();
  EXPECT_FALSE(brief->ended->is_set());
  clock.advance(std::chrono::seconds(2));
  look();
  EXPECT_TRUE(brief->ended->is_set());
  EXPECT_EQ(brief->ended->why().reason, "link_expired");
  EXPECT_FALSE(stays->ended->is_set());
  EXPECT_FALSE(download->ended->is_set()) << "what began in time ends well";
  dead_key = alice.key_name;
  look();
  EXPECT_TRUE(stays->ended->is_set() && download->ended->is_set());
  EXPECT_EQ(stays->ended->why().message, "the key that made this link was removed");
  dead_key = "";
  EXPECT_FALSE(core->links().use(long_lived.token, id, 8080)->ended->is_set())
      << "the key was put back";
}

TEST_F(LinksTest, WhatIsAskedForIsChecked) {
  const auto reason = [this](LinkSpec spec) {
    return run(core->links().issue(alice, "box", std::move(spec))).error().reason;
  };
  EXPECT_EQ(reason({.port = 80}), "invalid_expiry");
  EXPECT_EQ(reason({.port = 80, .lifetime_s = 0}), "invalid_expiry");
  EXPECT_EQ(reason({.port = 80, .lifetime_s = 31 * 86'400}), "invalid_expiry");
  EXPECT_EQ(reason({}), "invalid_link");
  EXPECT_EQ(reason({.path = std::string("/a\0b", 4)}), "invalid_link");
  EXPECT_EQ(reason({.path = "/a", .content_type = "text/html\r\nSet-Cookie: a=b"}),
            "invalid_content_type");
  EXPECT_TRUE(run(core->links().issue(alice, "box", LinkSpec{.path = "/a"})));
  EXPECT_EQ(run(core->links().issue(bob, "box", LinkSpec{.path = "/a"})).error().reason,
            "sandbox_not_found");
}

TEST_F(LinksTest, ThereIsABoundAndExpiredOnesMakeRoom) {
  for (int i = 0; i < 1000; ++i) issue(8080, i < 10 ? 5 : 600);
  EXPECT_EQ(
      run(core->links().issue(alice, "box", LinkSpec{.port = 80, .lifetime_s = 5})).error().reason,
      "too_many_links");
  clock.advance(std::chrono::seconds(6));
  issue();
}

}  // namespace
}  // namespace cay::core
