// The native API over a fake runtime; every answer must be one that openapi.json documents.
#pragma once
#include "api/native/native.h"
#include "api/testing/api_fixture.h"

namespace cay::api {

class NativeTest : public testing::ApiTest {
 protected:
  NativeTest() { add_native_routes(router, *cay, {.version = "9.9.9", .names = {}}); }

  void answered(const testing::FakeExchange& exchange) override {
    std::string method = exchange.request.method;
    for (char& c : method) c = static_cast<char>(c | 0x20);
    const auto* path = document.at("paths").get_object().if_contains(last_pattern);
    ASSERT_NE(path, nullptr) << last_pattern;
    const auto& responses = path->at(method).at("responses").get_object();
    EXPECT_TRUE(responses.contains(std::to_string(exchange.status)))
        << method << " " << last_pattern << " answered " << exchange.status
        << ", which is not documented";
  }

  std::string make_box(const std::string& name = "box") {
    const auto made = call("POST", "/api/v1/sandboxes", R"({"name":")" + name + R"("})");
    EXPECT_EQ(made->status, 201) << made->answer_body;
    return "/api/v1/sandboxes/" + name;
  }
  std::string reason_of(const testing::ExchangeHandle& exchange) {
    const auto body = json(exchange);
    const auto* error = body.if_contains("error");
    return error == nullptr ? "" : std::string(error->at("reason").as_string());
  }

  // openapi.json. Parsing it takes 5 ms under the sanitizers, so all tests share it.
  inline static const codec::json::object document = *codec::parse_object(openapi_json());
};

}  // namespace cay::api
