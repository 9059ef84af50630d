#include "vault/rules.h"

#include <gtest/gtest.h>

#include "codec/base64.h"

namespace cay::vault {
namespace {

constexpr const char* kSecret = "sk-live-0123456789";

wire::VaultRule rule(ProxyWay way) {
  wire::VaultRule out;
  out.name = "api";
  out.token = "cay-token-AAAA";
  out.way = static_cast<std::uint8_t>(way);
  out.secret = {"t", "key", 1, {"api.test", "*.wild.test", "ports.test:8443"}, "sealed"};
  return out;
}

class RulesTest : public ::testing::Test {
 protected:
  Result<Rewritten> rewritten(const wire::VaultRule& one, ClientRequest asked) {
    grant.sandbox_id = "s";
    grant.rules = {one};
    return rewrite(grant, asked,
                   [](const wire::VaultSecret&) -> Result<Wiped> { return Wiped(kSecret); });
  }
  static ClientRequest asked(const std::string& host, const std::string& target = "/v1/x") {
    ClientRequest out;
    out.host = host;
    out.target = target;
    if (!host.empty()) out.headers.add("Host", host);
    return out;
  }
  static std::string header(const Result<Rewritten>& from, const char* name) {
    return std::string(from->headers.get(name).value_or(""));
  }
  wire::VaultGrant grant;
};

TEST_F(RulesTest, HeadersReplaceWhatTheGuestSent) {
  ClientRequest one = asked("api.test");
  one.headers.add("authorization", "Bearer of the guest");
  one.headers.add("AUTHORIZATION", "Bearer again");
  one.headers.add("X-Other", "stays");
  const auto got = rewritten(rule(ProxyWay::kHeaders), one);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(header(got, "Authorization"), "Bearer sk-live-0123456789");
  std::size_t count = 0;
  for (const auto& [name, value] : got->headers.items())
    count += value.find("guest") != std::string::npos || value == "Bearer again" ? 1U : 0U;
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(header(got, "X-Other"), "stays");
  EXPECT_EQ(header(got, "Host"), "api.test");
  EXPECT_EQ(header(got, "Accept-Encoding"), "identity");
}

// For `cay net`: also of what is refused.
TEST_F(RulesTest, WhatARequestOfABaseUrlIsForIsKnownBeforeItIsJudged) {
  grant.rules = {rule(ProxyWay::kBaseUrl), rule(ProxyWay::kHeaders)};
  grant.rules[1].name = "other";
  const std::string name = grant.rules[0].name;
  for (const std::string& target : {"/" + name, "/" + name + "/v1/x", "/" + name + "?q=/other"}) {
    const ResolvedRule meant = resolve_rule(grant, target);
    EXPECT_EQ(meant.rule, name) << target;
    ASSERT_TRUE(meant.to) << target;
    EXPECT_EQ(meant.to->text(), "api.test") << target;
  }
  EXPECT_EQ(resolve_rule(grant, "/other/x").rule, "other") << "of another way";
  EXPECT_FALSE(resolve_rule(grant, "/other/x").to);
  EXPECT_EQ(resolve_rule(grant, "/.a;b\x1b%2f\xff/x").rule, ".a?b??2f?");
  EXPECT_EQ(resolve_rule(grant, "/" + std::string(5000, 'n')).rule, std::string(63, 'n'));
  for (const char* none : {"", "/", "*", "http://a.test/"})
    EXPECT_EQ(resolve_rule(grant, none).rule, "") << none;
  grant.rules[0].hosts = {"*.wild.test"};
  EXPECT_EQ(resolve_rule(grant, "/" + name).rule, name);
  EXPECT_FALSE(resolve_rule(grant, "/" + name).to) << "it has no host to send to";
}

TEST_F(RulesTest, AKeyOfTheGuestsDoesNotGoBesideTheRules) {
  ClientRequest one = asked("api.test");
  for (const char* name : {"X-Api-Key", "api-key", "X-Goog-Api-Key"})
    one.headers.add(name, "the guest's own");
  one.headers.add("X-Note", "stays");
  const auto got = rewritten(rule(ProxyWay::kHeaders), one);
  ASSERT_TRUE(got);
  for (const auto& [name, value] : got->headers.items())
    EXPECT_NE(value, "the guest's own") << name;
  EXPECT_EQ(header(got, "X-Note"), "stays");
  auto other = rule(ProxyWay::kHeaders);
  other.headers = {{"X-Tenant", "${SECRET}", ""}};
  EXPECT_EQ(header(rewritten(other, one), "X-Api-Key"), "the guest's own")
      << "the rule says no key";
}

TEST_F(RulesTest, NorInASpellingThatAProgramReadsAsTheSameName) {
  auto own = rule(ProxyWay::kHeaders);
  own.headers = {{"X-Api-Key", "${SECRET}", ""}};
  ClientRequest one = asked("api.test");
  for (const char* name : {"X_Api_Key", "x_api-key", "Api_Key", "Transfer_Encoding",
                           "content_length", "Proxy_Authorization", "If_Range"})
    one.headers.add(name, "the guest's own");
  one.headers.add("X_Note", "stays");
  const auto got = rewritten(own, one);
  ASSERT_TRUE(got);
  for (const auto& [name, value] : got->headers.items())
    EXPECT_NE(value, "the guest's own") << name;
  EXPECT_EQ(header(got, "X-Api-Key"), kSecret);
  EXPECT_EQ(header(got, "X_Note"), "stays");
  ClientRequest place = asked("api.test");
  place.headers.add("X_Api_Key", "cay-token-AAAA");
  EXPECT_EQ(header(rewritten(rule(ProxyWay::kPlaceholder), place), "X_Api_Key"), "cay-token-AAAA")
      << "a stand-in counts in the named ones alone";
}

TEST_F(RulesTest, NorBesideTheKeyOfABaseUrl) {
  ClientRequest one = asked("", "/api/x");
  one.headers.add("Authorization", "Bearer cay-token-AAAA");
  one.headers.add("X-Api-Key", "the guest's own");
  one.headers.add("X-Note", "stays");
  const auto got = rewritten(rule(ProxyWay::kBaseUrl), one);
  ASSERT_TRUE(got);
  EXPECT_EQ(header(got, "X-Api-Key"), "");
  EXPECT_EQ(header(got, "X-Note"), "stays");
  EXPECT_EQ(header(got, "Authorization"), "Bearer sk-live-0123456789");
  auto other = rule(ProxyWay::kBaseUrl);
  other.headers = {{"X-Tenant", "${SECRET}", ""}};
  EXPECT_EQ(header(rewritten(other, one), "X-Api-Key"), "the guest's own")
      << "the rule says no key";
}

TEST_F(RulesTest, TheStandInOfAnotherRuleGoesBesideTheKey) {
  ClientRequest one = asked("api.test");
  one.headers.add("X-Api-Key", "cay-token-AAAA");
  grant.sandbox_id = "s";
  for (const bool first : {true, false}) {
    grant.rules = {rule(ProxyWay::kHeaders), rule(ProxyWay::kPlaceholder)};
    if (first) std::swap(grant.rules[0], grant.rules[1]);
    const auto got = rewrite(
        grant, one, [](const wire::VaultSecret&) -> Result<Wiped> { return Wiped(kSecret); });
    ASSERT_TRUE(got);
    EXPECT_EQ(header(got, "Authorization"), "Bearer sk-live-0123456789");
    EXPECT_EQ(header(got, "X-Api-Key"), kSecret);
    const auto without =
        rewrite(grant, asked("api.test"),
                [](const wire::VaultSecret&) -> Result<Wiped> { return Wiped(kSecret); });
    ASSERT_TRUE(without);
    EXPECT_EQ(header(without, "X-Api-Key"), "")
        << "a secret whose stand-in nobody wrote is not sent";
  }
}

TEST_F(RulesTest, OwnHeadersAndBasic) {
  auto one = rule(ProxyWay::kHeaders);
  one.headers = {{"X-Api-Key", "key=${SECRET};", ""}, {"Authorization", "", "bot"}};
  const auto got = rewritten(one, asked("a.wild.test"));
  ASSERT_TRUE(got);
  EXPECT_EQ(header(got, "X-Api-Key"), "key=sk-live-0123456789;");
  EXPECT_EQ(header(got, "Authorization"), "Basic " + codec::base64(std::string("bot:") + kSecret));
}

TEST_F(RulesTest, TheSecretsOwnHostsCountWhateverTheRuleSays) {
  auto one = rule(ProxyWay::kHeaders);
  one.hosts = {"evil.test", "api.test"};
  EXPECT_FALSE(rewritten(one, asked("evil.test")));
  EXPECT_FALSE(intercepts(grant, "evil.test", 443));
  EXPECT_TRUE(rewritten(one, asked("api.test"))) << "the control";
  EXPECT_TRUE(intercepts(grant, "api.test", 443));
  EXPECT_FALSE(intercepts(grant, "api.test", 8443));
  EXPECT_FALSE(rewritten(one, asked("a.wild.test"))) << "the rule is narrower";
}

TEST_F(RulesTest, ARequestNamesTheHostThatItsConnectionIsFor) {
  ClientRequest other = asked("api.test");
  other.headers = {};
  other.headers.add("Host", "evil.test");
  EXPECT_EQ(rewritten(rule(ProxyWay::kHeaders), other).error().reason, "host_mismatch");
  other.headers.add("Host", "api.test");
  EXPECT_FALSE(rewritten(rule(ProxyWay::kHeaders), other));
  ClientRequest twice = asked("api.test");
  twice.headers.add("Host", "api.test");
  EXPECT_FALSE(rewritten(rule(ProxyWay::kHeaders), twice));
  ClientRequest none = asked("api.test");
  none.headers = {};
  EXPECT_FALSE(rewritten(rule(ProxyWay::kHeaders), none));
  ClientRequest port = asked("api.test");
  port.headers = {};
  port.headers.add("Host", "API.test:443");
  EXPECT_TRUE(rewritten(rule(ProxyWay::kHeaders), port));
  EXPECT_FALSE(rewritten(rule(ProxyWay::kHeaders), asked("api.test", "https://evil.test/")))
      << "a target with a host of its own";
}

TEST_F(RulesTest, PathsAreFencesThatNoSpellingGoesAround) {
  auto one = rule(ProxyWay::kHeaders);
  one.paths = {"/v1/**"};
  EXPECT_TRUE(rewritten(one, asked("api.test", "/v1/chat?x=/../y")));
  for (const char* target : {"/v2/x", "/v1", "/v1/../admin", "/v1/.."})
    EXPECT_EQ(rewritten(one, asked("api.test", target)).error().reason, "path_not_in_rule")
        << target;
  for (const char* target :
       {"/v1/%2e%2e/admin", "/v1/..%2fadmin", "/v1//x", "/v1/a\\..\\b", "/v1/..;/x"}) {
    EXPECT_EQ(rewritten(one, asked("api.test", target)).error().reason, "ambiguous_path") << target;
  }
  EXPECT_EQ(rewritten(one, asked("api.test", "/v2/../v1/%63hat?x=%2e"))->target, "/v1/chat?x=%2e")
      << "what was judged is what is sent";
}

TEST_F(RulesTest, WithoutPathsATargetGoesOnAsItCame) {
  auto one = rule(ProxyWay::kHeaders);
  one.methods = {"GET"};
  EXPECT_EQ(rewritten(one, asked("api.test", "/v1//%2e%2e/a%2fb/../c?d"))->target,
            "/v1//%2e%2e/a%2fb/../c?d");
}

TEST_F(RulesTest, AFenceAddsNothingAndLetsNothingElseThrough) {
  wire::VaultRule fence;
  fence.name = "fence";
  fence.way = static_cast<std::uint8_t>(ProxyWay::kHeaders);
  fence.hosts = {"api.test"};
  fence.methods = {"GET"};
  fence.paths = {"/v1/**"};
  ClientRequest ask = asked("api.test");
  ask.headers.add("Authorization", "Bearer of the guest");
  const auto got = rewritten(fence, ask);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(header(got, "Authorization"), "Bearer of the guest");
  ask.method = "POST";
  EXPECT_EQ(rewritten(fence, ask).error().reason, "method_not_in_rule");
  EXPECT_EQ(rewritten(fence, asked("other.test")).error().reason, "no_such_rule");
  const auto routes = routes_of(grant);
  EXPECT_TRUE(routes.hosts.empty());
  EXPECT_EQ(routes.fences, std::vector<std::string>{"api.test"});
}

TEST_F(RulesTest, RulesOfOneHostAddUp) {
  wire::VaultRule reads = rule(ProxyWay::kHeaders), writes = rule(ProxyWay::kHeaders);
  reads.methods = {"GET"};
  reads.headers = {{"X-Read", "${SECRET}", ""}};
  writes.methods = {"POST"};
  writes.paths = {"/v1/jobs"};
  grant.rules = {reads, writes};
  const auto ask = [&](const char* method, const char* target) {
    ClientRequest one = asked("api.test", target);
    one.method = method;
    return rewrite(grant, one,
                   [](const wire::VaultSecret&) -> Result<Wiped> { return Wiped(kSecret); });
  };
  EXPECT_EQ(header(ask("GET", "/any"), "X-Read"), kSecret);
  const auto written = ask("POST", "/v1/jobs");
  ASSERT_TRUE(written);
  EXPECT_EQ(header(written, "X-Read"), "") << "the secret's header of another rule";
  EXPECT_EQ(header(written, "Authorization"), "Bearer sk-live-0123456789");
  EXPECT_EQ(ask("POST", "/v1/keys").error().reason, "method_not_in_rule");
  EXPECT_EQ(ask("DELETE", "/v1/jobs").error().reason, "method_not_in_rule");
  EXPECT_EQ(ask("GET", "/v1/%2e%2e/x").error().reason, "ambiguous_path")
      << "though a rule has all paths: another lists some";
}

TEST_F(RulesTest, ABaseUrlIsFencedByItsOwnRule) {
  auto one = rule(ProxyWay::kBaseUrl);
  one.methods = {"POST"};
  one.paths = {"/v1/*"};
  ClientRequest ask = asked("", "/api/v1/chat");
  ask.headers.add("X-Api-Key", "cay-token-AAAA");
  ask.method = "POST";
  EXPECT_EQ(rewritten(one, ask)->target, "/v1/chat");
  ask.target = "/api/v1/../admin";
  EXPECT_EQ(rewritten(one, ask).error().reason, "path_not_in_rule");
  ask.target = "/api/v1/chat";
  ask.method = "GET";
  EXPECT_EQ(rewritten(one, ask).error().reason, "method_not_in_rule");
}

TEST_F(RulesTest, NothingGoesByARuleWhoseSecretIsGone) {
  auto gone = rule(ProxyWay::kHeaders);
  gone.gone = true;
  gone.secret.sealed.clear();
  EXPECT_EQ(rewritten(gone, asked("api.test")).error().reason, "secret_gone");
  EXPECT_TRUE(intercepts(grant, "api.test", 443));
  EXPECT_EQ(routes_of(grant).hosts, gone.secret.hosts)
      << "it is the broker's to refuse, not the policy's to let past";
  auto other = rule(ProxyWay::kPlaceholder);
  grant.rules = {other, gone};
  const Unseal unseal = [](const wire::VaultSecret&) -> Result<Wiped> { return Wiped(kSecret); };
  EXPECT_EQ(rewrite(grant, asked("api.test"), unseal).error().reason, "secret_gone")
      << "nor without it";
  gone.paths = {"/v2/**"};
  grant.rules = {other, gone};
  EXPECT_TRUE(rewrite(grant, asked("api.test"), unseal)) << "what its rule is not for";
  gone.way = static_cast<std::uint8_t>(ProxyWay::kBaseUrl);
  ClientRequest base = asked("", "/api/v2/x");
  base.headers.add("X-Api-Key", "cay-token-AAAA");
  EXPECT_EQ(rewritten(gone, base).error().reason, "secret_gone");
}

TEST_F(RulesTest, WhatConcernsTheConnectionIsNotPassedOn) {
  ClientRequest one = asked("api.test");
  for (const char* name : {"Connection", "X-Hop"}) one.headers.add(name, "X-Hop, keep-alive");
  one.headers.add("Transfer-Encoding", "chunked");
  one.headers.add("Content-Length", "5");
  one.headers.add("Accept-Encoding", "gzip, br");
  one.headers.add("Sec-WebSocket-Extensions", "permessage-deflate");
  const auto got = rewritten(rule(ProxyWay::kHeaders), one);
  for (const char* name :
       {"Connection", "X-Hop", "Transfer-Encoding", "Content-Length", "Sec-WebSocket-Extensions"})
    EXPECT_EQ(header(got, name), "") << name;
  EXPECT_EQ(header(got, "Accept-Encoding"), "identity");
}

TEST_F(RulesTest, NoPartOfAnAnswerIsAskedFor) {
  for (const ProxyWay way : {ProxyWay::kHeaders, ProxyWay::kPlaceholder, ProxyWay::kBaseUrl}) {
    const bool base = way == ProxyWay::kBaseUrl;
    ClientRequest one = asked(base ? "" : "api.test", "/api/x");
    one.headers.add("X-Api-Key", "cay-token-AAAA");
    one.headers.add("range", "bytes=0-7");
    one.headers.add("If-Range", "\"x\"");
    one.headers.add("Request-Range", "bytes=8-15");
    one.headers.add("X-Other", "stays");
    const auto got = rewritten(rule(way), one);
    ASSERT_TRUE(got) << got.error().message;
    for (const char* name : {"Range", "If-Range", "Request-Range"})
      EXPECT_FALSE(got->headers.get(name)) << name;
    EXPECT_EQ(header(got, "X-Other"), "stays") << "the control";
  }
}

TEST_F(RulesTest, EverySecretThatAHostMayKnowIsLookedForWhateverTheRequestHas) {
  wire::VaultGrant all;
  const auto add = [&](ProxyWay way, const char* name, std::vector<std::string> hosts) {
    all.rules.push_back(rule(way));
    all.rules.back().secret = {"t", name, 1, std::move(hosts), "sealed"};
    all.rules.back().paths = {"/nowhere"};
    all.rules.back().hosts = {"narrower.test"};
  };
  add(ProxyWay::kHeaders, "headers", {"api.test"});
  add(ProxyWay::kHeaders, "another-rule", {"api.test", "else.test"});
  add(ProxyWay::kPlaceholder, "placeholder", {"api.test:8443"});
  add(ProxyWay::kBaseUrl, "base", {"api.test"});
  add(ProxyWay::kHeaders, "elsewhere", {"else.test"});
  add(ProxyWay::kHeaders, "withdrawn", {"api.test"});
  all.rules.back().secret.sealed.clear();
  const auto names = [&](const char* host) {
    std::string out;
    const auto got = secrets_of_host(
        all, host,
        [](const wire::VaultSecret& secret) -> Result<Wiped> { return Wiped(secret.name); });
    for (const Wiped& one : *got) out += std::string(one.view()) + " ";
    return out;
  };
  EXPECT_EQ(names("api.test"), "headers another-rule placeholder base ");
  EXPECT_EQ(names("else.test"), "another-rule elsewhere ");
  EXPECT_EQ(names("stranger.example"), "");
  const auto broken = [](const wire::VaultSecret&) -> Result<Wiped> {
    return Error{Code::kInvalidArgument, "bad_envelope", "broken", 0};
  };
  EXPECT_FALSE(secrets_of_host(all, "api.test", broken))
      << "what cannot be looked for is not passed over";
}

TEST_F(RulesTest, ARuleWhoseSecretIsWithdrawnStaysAndRefuses) {
  auto one = rule(ProxyWay::kHeaders);
  one.secret.sealed.clear();
  EXPECT_EQ(rewritten(one, asked("api.test")).error().reason, "secret_withdrawn");
  EXPECT_TRUE(intercepts(grant, "api.test", 443)) << "nothing goes past the broker meanwhile";
  EXPECT_EQ(routes_of(grant).hosts.size(), 3U);
}

TEST_F(RulesTest, AConnectionHeaderCannotTakeAwayWhatARuleSets) {
  ClientRequest one = asked("api.test");
  one.headers.add("Connection", "authorization");
  EXPECT_EQ(header(rewritten(rule(ProxyWay::kHeaders), one), "Authorization"),
            "Bearer sk-live-0123456789");
}

TEST_F(RulesTest, APlaceholderCountsInNamedHeadersAndBasicAlone) {
  const auto one = rule(ProxyWay::kPlaceholder);
  ClientRequest ask = asked("api.test", "/v1/x?key=cay-token-AAAA");
  ask.headers.add("Authorization", "Bearer cay-token-AAAA");
  ask.headers.add("X-Api-Key", "cay-token-AAAA");
  ask.headers.add("X-Note", "cay-token-AAAA");
  auto got = rewritten(one, ask);
  ASSERT_TRUE(got);
  EXPECT_EQ(header(got, "Authorization"), "Bearer sk-live-0123456789");
  EXPECT_EQ(header(got, "X-Api-Key"), kSecret);
  EXPECT_EQ(header(got, "X-Note"), "cay-token-AAAA") << "inert";
  EXPECT_EQ(got->target, "/v1/x?key=cay-token-AAAA") << "inert";
  ask = asked("api.test");
  ask.headers.add("Authorization", "Basic " + codec::base64("me:cay-token-AAAA"));
  got = rewritten(one, ask);
  EXPECT_EQ(header(got, "Authorization"), "Basic " + codec::base64(std::string("me:") + kSecret));
  auto named = one;
  named.headers = {{"X-Key", "", ""}};
  ask.headers.add("X-Key", "cay-token-AAAA");
  got = rewritten(named, ask);
  EXPECT_EQ(header(got, "X-Key"), kSecret);
  EXPECT_EQ(header(got, "Authorization"), "Basic " + codec::base64("me:cay-token-AAAA"))
      << "another header than the named";
}

TEST_F(RulesTest, ABaseUrlWantsTheTokenOfThisSandbox) {
  const auto one = rule(ProxyWay::kBaseUrl);
  ClientRequest ask = asked("", "/api/v1/chat?x=y");
  ask.headers.add("Host", "192.0.0.3");
  EXPECT_EQ(rewritten(one, ask).error().reason, "token_unknown");
  ask.headers.add("Authorization", "Bearer cay-token-AAAB");
  EXPECT_EQ(rewritten(one, ask).error().reason, "token_unknown");
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"Authorization", "Bearer cay-token-AAAA"},
           {"x-api-key", "cay-token-AAAA"},
           {"Authorization", "Basic " + codec::base64("cay-token-AAAA:")}}) {
    ClientRequest good = asked("", "/api/v1/chat?x=y");
    good.headers.add("Host", "192.0.0.3");
    good.headers.add(name, value);
    const auto got = rewritten(one, good);
    ASSERT_TRUE(got) << value;
    EXPECT_EQ(got->to.host, "api.test");
    EXPECT_EQ(got->target, "/v1/chat?x=y");
    EXPECT_EQ(header(got, "Host"), "api.test");
    EXPECT_EQ(header(got, "Authorization"), "Bearer sk-live-0123456789");
    for (const auto& [key, text] : got->headers.items())
      EXPECT_EQ(text.find("cay-token"), std::string::npos) << key;
  }
  ask.target = "/nobody/v1";
  EXPECT_EQ(rewritten(one, ask).error().reason, "no_such_rule");
  EXPECT_FALSE(intercepts(grant, "api.test", 443)) << "no TLS is ended for it";
}

TEST_F(RulesTest, TheGateIsToldHostsAndNoMore) {
  auto two = rule(ProxyWay::kPlaceholder);
  two.hosts = {"api.test"};
  grant.sandbox_id = "s";
  grant.rules = {rule(ProxyWay::kBaseUrl), two};
  const auto routes = routes_of(grant);
  EXPECT_TRUE(routes.base_url);
  EXPECT_EQ(routes.hosts, std::vector<std::string>{"api.test"});
}

TEST(AboutSecretTest, EveryMemberButTheSealedBytesCounts) {
  const wire::VaultSecret one{"t", "key", 1, {"a.test"}, "sealed"};
  auto other = one;
  other.sealed = "other";
  EXPECT_EQ(about_secret(one), about_secret(other));
  for (const auto& change : std::vector<void (*)(wire::VaultSecret&)>{
           [](auto& s) { s.tenant = "u"; }, [](auto& s) { s.name = "k"; },
           [](auto& s) { s.version = 2; }, [](auto& s) { s.hosts = {"b.test"}; },
           [](auto& s) { s.hosts.push_back("b.test"); }}) {
    other = one;
    change(other);
    EXPECT_NE(about_secret(one), about_secret(other));
  }
}

TEST_F(RulesTest, AHeadThatWouldBeTooLongWithItsSecretsIsRefusedAndNotWritten) {
  const std::string secret(2048, 's'), token = "cay-token-AAAA";
  std::string many;
  for (int i = 0; i < 1000; ++i) many += token;
  grant.rules = {rule(ProxyWay::kPlaceholder)};
  const auto with = [&](const std::string& value) {
    ClientRequest one = asked("api.test");
    one.headers.add("Authorization", value);
    return rewrite(grant, one,
                   [&](const wire::VaultSecret&) -> Result<Wiped> { return Wiped(secret); });
  };
  std::string fit = "Bearer ";
  for (int i = 0; i < 31; ++i) fit += token;
  const auto fine = with(fit);
  ASSERT_TRUE(fine) << "the control";
  EXPECT_EQ(header(fine, "Authorization").size(), 7 + 31 * secret.size());
  for (const std::string& value : {fit + token, many, "Basic " + codec::base64("me:" + many)}) {
    const auto got = with(value);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Code::kInvalidArgument);
    EXPECT_EQ(got.error().reason, "bad_request");
  }
  ClientRequest spread = asked("api.test");
  for (int i = 0; i < 40; ++i) spread.headers.add("X-Api-Key", token);
  EXPECT_FALSE(rewrite(grant, spread, [&](const wire::VaultSecret&) -> Result<Wiped> {
    return Wiped(secret);
  })) << "all headers together";
  grant.rules = {rule(ProxyWay::kHeaders)};
  for (int i = 0; i < 40; ++i)
    grant.rules[0].headers.push_back({"X-" + std::to_string(i), kSecretWord, ""});
  EXPECT_FALSE(with("x")) << "what a rule says itself, too";
  grant.rules[0].headers = {{"X-Many", "", ""}};
  for (int i = 0; i < 40; ++i) grant.rules[0].headers[0].value += kSecretWord;
  EXPECT_FALSE(with("x"));
}

}  // namespace
}  // namespace cay::vault
