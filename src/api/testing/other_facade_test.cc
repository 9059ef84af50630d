// Another vendor's facade beside the native one, through the dispatcher to a real core.
#include "api/testing/other_facade.h"

#include "api/native/native.h"
#include "api/testing/api_fixture.h"
#include "server/dispatch.h"

namespace cay::api::testing {
namespace {

using Items = std::vector<std::pair<std::string, std::string>>;

class OtherFacadeTest : public ApiTest {
 protected:
  OtherFacadeTest() {
    add_native_routes(router, *cay, {.version = "9", .names = {}});
    add_other_routes(router, *cay);
    for (const std::string name : {"ann", "ben"}) {
      EXPECT_TRUE(keys.add({name, "of-" + name, server::hash_key("cay_" + name)}));
    }
    dispatcher = server::make_dispatcher(router, keys, {});
    for (const std::string name : {"ann", "ben"}) {
      EXPECT_EQ(ask("POST", "/api/v1/sandboxes", {{"X-Api-Key", "cay_" + name}},
                    R"({"name":"box-of-)" + name + R"("})")
                    ->status,
                201);
    }
  }

  ExchangeHandle ask(const std::string& method, const std::string& target, const Items& headers,
                     std::string body = {}) {
    auto out = exchange(method, target, std::move(body));
    out->request.host = "localhost";
    for (const auto& [name, value] : headers) out->request.headers.add(name, value);
    auto running = core::testing::start<void>(loop, to_end(dispatcher(out)));
    EXPECT_TRUE(core::testing::finish<void>(loop, *running));
    EXPECT_EQ(out->answers, 1);
    return out;
  }

  server::KeyRing keys;
  http::Handler dispatcher;

 private:
  static Task<void> to_end(asio::awaitable<void> work) {
    co_await std::move(work);
    co_return Result<void>();
  }
};

TEST_F(OtherFacadeTest, ItsHeaderOpensAndItsRefusalsAreItsOwn) {
  EXPECT_EQ(ask("GET", "/other/boxes", {{"X-Other-Token", "cay_ann"}})->answer_body,
            R"(["box-of-ann"])");
  EXPECT_EQ(ask("GET", "/other/health", {})->status, 200);
  for (const Items& headers :
       {Items{}, Items{{"X-Other-Token", "cay_eve"}}, Items{{"X-Api-Key", "cay_ann"}},
        Items{{"Authorization", "Bearer cay_ann"}}}) {
    const auto refused = ask("GET", "/other/boxes", headers);
    EXPECT_EQ(refused->status, 401);
    EXPECT_EQ(json(refused).at("code").as_int64(), 401);
    EXPECT_EQ(refused->headers.get("WWW-Authenticate"), "Other");
  }
  EXPECT_EQ(ask("GET", "/api/v1/sandboxes", {{"X-Other-Token", "cay_ann"}})->status, 401);
}

TEST_F(OtherFacadeTest, TheKeyOfOneTenantNeverOpensAnothers) {
  for (const std::string name : {"ann", "ben"}) {
    const std::string other = name == "ann" ? "ben" : "ann";
    const auto id_of = [&](const std::string& box) {
      return ask("GET", "/id", {{"X-Other-Box", box}, {"X-Other-Token", "cay_" + name}});
    };
    EXPECT_EQ(id_of("box-of-" + name)->status, 200) << "the control";
    const auto refused = id_of("box-of-" + other);
    EXPECT_EQ(refused->status, 404);
    EXPECT_EQ(json(refused).at("code").as_int64(), 404);
    EXPECT_EQ(ask("GET", "/other/boxes", {{"X-Other-Token", "cay_" + name}})->answer_body,
              "[\"box-of-" + name + "\"]");
    EXPECT_EQ(
        ask("GET", "/api/v1/sandboxes/box-of-" + other, {{"X-Api-Key", "cay_" + name}})->status,
        404);
  }
}

TEST_F(OtherFacadeTest, ARequestOfASandboxIsNeverOneOfTheApi) {
  const Items box{{"X-Other-Box", "box-of-ann"}, {"X-Other-Token", "cay_ann"}};
  EXPECT_EQ(ask("GET", "/other/boxes", box)->status, 404);
  EXPECT_EQ(ask("GET", "/healthz", box)->status, 404);
  EXPECT_EQ(ask("GET", "/id", {{"X-Other-Box", "box-of-ann"}})->status, 401);
}

}  // namespace
}  // namespace cay::api::testing
