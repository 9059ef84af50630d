// The Daytona facade over a fake runtime.
#pragma once
#include <string>

#include "api/daytona/config.h"
#include "api/testing/api_fixture.h"
#include "async/scope.h"

namespace cay::api::daytona {

class DaytonaTest : public testing::ApiTest {
 protected:
  DaytonaTest() {
    DaytonaConfig config;
    config.maximum = core::Defaults{}.maximum;
    config.usual = core::Defaults{}.limits;
    config.background = [this](asio::awaitable<void> work) { background.spawn(std::move(work)); };
    add_daytona_routes(router, *cay, std::move(config));
  }

  Scope background{loop.get_executor()};

  codec::json::object make_sandbox(const std::string& body = "{}") {
    const auto made = call("POST", "/daytona/sandbox", body);
    EXPECT_EQ(made->status, 200) << made->answer_body;
    return json(made);
  }
  static std::string text(const codec::json::object& object, std::string_view name) {
    const auto* value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
  }
};

}  // namespace cay::api::daytona
