// The LangSmith facade over a fake runtime.
#pragma once
#include "api/langsmith/config.h"
#include "api/testing/api_fixture.h"

namespace cay::api::langsmith {

class LangsmithTest : public testing::ApiTest {
 protected:
  LangsmithTest() {
    LangsmithConfig config;
    config.maximum = core::Defaults{}.maximum;
    config.heartbeat = Millis{50};
    add_langsmith_routes(router, *cay, std::move(config));
  }

  static constexpr const char* kBoxes = "/v2/sandboxes/boxes";

  codec::json::object make_box(const std::string& name = "box") {
    const auto made =
        call("POST", kBoxes, R"({"name":")" + name + R"(","wait_for_ready":true,"timeout":30})");
    EXPECT_EQ(made->status, 201) << made->answer_body;
    return json(made);
  }
  // Path of the box's data plane.
  std::string data_plane(const codec::json::object& box) {
    const std::string url(box.at("dataplane_url").as_string());
    const std::string host = "http://127.0.0.1:8787";
    EXPECT_TRUE(url.starts_with(host)) << url;
    return url.substr(host.size());
  }
  std::string type_of(const testing::ExchangeHandle& exchange) {
    const auto body = json(exchange);
    const auto* detail = body.if_contains("detail");
    if (detail == nullptr || !detail->is_object()) return "";
    EXPECT_FALSE(detail->at("error_id").as_string().empty());
    return std::string(detail->at("error").as_string());
  }
  // The field that a 422 list names.
  std::string field_of(const testing::ExchangeHandle& exchange) {
    EXPECT_EQ(exchange->status, 422) << exchange->answer_body;
    const auto body = json(exchange);
    if (!body.at("detail").is_array()) return "";
    const auto& first = body.at("detail").as_array().at(0);
    EXPECT_EQ(first.at("type").as_string(), "value_error");
    return std::string(first.at("loc").as_array().back().as_string());
  }
};

}  // namespace cay::api::langsmith
