#include "vault/request_filter.h"

#include <gtest/gtest.h>

namespace cay::vault {
namespace {

wire::VaultRule rule(std::vector<std::string> methods, std::vector<std::string> paths) {
  wire::VaultRule out;
  out.methods = std::move(methods);
  out.paths = std::move(paths);
  return out;
}

// Empty: let through; else why not.
std::string asked(const wire::VaultRule& one, const std::string& method, const std::string& target,
                  const http::Headers& headers = {}) {
  const auto fence = RequestFilter::create({&one}, method, target, headers);
  if (!fence) return fence.error().reason;
  return fence->allows(one) ? "" : fence->refusal("api.test").reason;
}

http::Headers with(const char* name, const char* value = "DELETE") {
  http::Headers out;
  out.add(name, value);
  return out;
}

TEST(RequestFilterTest, MethodsAreExactAndGetHasHead) {
  const auto reads = rule({"GET"}, {});
  EXPECT_EQ(asked(reads, "GET", "/x"), "");
  EXPECT_EQ(asked(reads, "HEAD", "/x"), "");
  for (const char* method : {"POST", "get", "Get", "GETT", "GE", "TRACE", "PROPFIND", "", "GET "})
    EXPECT_EQ(asked(reads, method, "/x"), "method_not_in_rule") << method;
  EXPECT_EQ(asked(rule({"HEAD"}, {}), "GET", "/x"), "method_not_in_rule");
  EXPECT_EQ(asked(rule({}, {}), "BREW", "/x"), "");
}

TEST(RequestFilterTest, WhichOfThemFails) {
  const auto one = rule({"GET", "POST"}, {"/v1/**"});
  EXPECT_EQ(asked(one, "POST", "/v1/x"), "");
  EXPECT_EQ(asked(one, "DELETE", "/v1/x"), "method_not_in_rule");
  EXPECT_EQ(asked(one, "POST", "/v2/x"), "path_not_in_rule");
  EXPECT_EQ(asked(one, "POST", "/v1/%2e%2e/x"), "ambiguous_path");
  EXPECT_EQ(asked(one, "POST", "/v1/x?to=%2e%2e//\\"), "") << "of a query nothing is asked";
}

TEST(RequestFilterTest, NoRequestIsTakenForOneOfAnotherMethod) {
  const auto one = rule({"POST"}, {});
  for (const char* name :
       {"X-HTTP-Method-Override", "x-http-method-override", "X-Method-Override", "X-HTTP-Method",
        "X_HTTP_Method_Override", "X.HTTP.Method.Override", "x~http!method"}) {
    EXPECT_EQ(asked(one, "POST", "/x", with(name)), "method_overridden") << name;
    EXPECT_EQ(asked(rule({}, {"/**"}), "POST", "/x", with(name)), "")
        << "where methods are not asked for";
  }
  for (const char* target : {"/x?_method=DELETE",
                             "/x?a=b&_METHOD=DELETE",
                             "/x?a;_method=PUT",
                             "/x?%5fmethod=PUT",
                             "/x?_%6dethod=PUT",
                             "/x?_method[]=PUT",
                             "/x?+_method=PUT",
                             "/x?_method",
                             "/x?_method%00=PUT",
                             "/x?_method[%zz]=PUT",
                             "/x?_method[%00]=PUT",
                             "/x?_method%5b%=PUT",
                             "/x?.method=PUT",
                             "/x?%2emethod=PUT",
                             "/x?_HttpMethod=PATCH",
                             "/x?_http_method=PUT",
                             "/x?__httpMethod=PUT",
                             "/x?$httpHeaders=X-HTTP-Method-Override:DELETE%0D%0A",
                             "/x?%24httpHeaders=",
                             "/x?$httpMethod=PUT",
                             "/x?x-http-method-override=DELETE",
                             "/x?a=b&X-HTTP-Method=DELETE"}) {
    EXPECT_EQ(asked(one, "POST", target), "method_overridden") << target;
  }
  EXPECT_EQ(asked(one, "POST",
                  "/x?my_method=DELETE&a=_method&%_method=PUT&_me%zzthod=PUT&%00_method=PUT"),
            "");
  EXPECT_EQ(asked(one, "POST", "/x", with("X-Method")), "");
}

TEST(RequestFilterTest, NorForOneOfAnotherPath) {
  for (const char* name : {"X-Original-URL", "x-rewrite-url", "X_Original_URL", "X~Original~URL"}) {
    EXPECT_EQ(asked(rule({}, {"/v1/**"}), "GET", "/v1/x", with(name, "/admin")),
              "method_overridden")
        << name;
    EXPECT_EQ(asked(rule({"GET"}, {}), "GET", "/v1/x", with(name, "/admin")), "")
        << "where paths are not asked for";
  }
}

TEST(RequestFilterTest, ARefusalSaysWhatIsAllowedAndOfTheRequestTheMethodAlone) {
  const auto one = rule({"GET", "POST"}, {"/v1/**", "/v2/*"}), two = rule({"PUT"}, {});
  const auto told = [&](const char* method) {
    return RequestFilter::create({&one, &two}, method, "/secret-of-the-guest", {})
        ->refusal("api.test")
        .message;
  };
  EXPECT_EQ(told("DELETE"),
            "DELETE is not allowed at this path of api.test: allowed is GET, POST of /v1/**, "
            "/v2/*; PUT of any path");
  EXPECT_TRUE(told("<script>").starts_with("this method is not allowed")) << told("<script>");
  std::vector<std::string> many(64, "/v1/*");
  const auto wide = rule({}, many);
  EXPECT_LT(RequestFilter::create({&wide}, "GET", "/x", {})->refusal("api.test").message.size(),
            120U);
}

}  // namespace
}  // namespace cay::vault
