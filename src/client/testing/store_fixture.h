// StoreFixture: a SnapshotStore of the SDK whose requests go to a FakeHttp.
#pragma once
#include <gtest/gtest.h>

#include <memory>

#include "client/sync_state.h"
#include "client/testing/fake_http.h"
#include "cay/client.h"

namespace cay::client::testing {

struct StoreFixture : ::testing::Test {
  std::shared_ptr<FakeHttp::Log> log = std::make_shared<FakeHttp::Log>();
  sdk::ClientOptions options = [] {
    sdk::ClientOptions out;
    out.api_key = "key";
    return out;
  }();
  std::shared_ptr<sdk::ClientState> state = std::make_shared<sdk::ClientState>(
      options, [this](asio::any_io_executor) { return std::make_unique<FakeHttp>(log); });
  sdk::SnapshotStore store{state};
};

}  // namespace cay::client::testing
