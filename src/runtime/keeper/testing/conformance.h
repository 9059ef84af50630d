// The fixture of the conformance tests: a live sandbox over a real keeper, UNIX and TCP.
#pragma once
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <functional>
#include <string>

#include "async/testing.h"
#include "runtime/keeper/keeper_sandbox.h"
#include "runtime/keeper/testing/keeper_dialer.h"

namespace cay::runtime::testing {

inline constexpr const char* kSandbox = "11111111-1111-4111-8111-111111111111";

// The events of a reader, in their order.
struct Seen {
  std::string out, err;
  std::optional<Command> end;
  std::optional<Error> error;
};

inline asio::awaitable<Seen> drain(core::CommandReader& reader) {
  Seen seen;
  while (!seen.end) {
    auto event = co_await reader.next();
    if (!event) {
      seen.error = event.error();
      break;
    }
    if (auto* data = std::get_if<core::OutputData>(&*event)) {
      std::string& stream = data->stream == Stream::kStdout ? seen.out : seen.err;
      EXPECT_EQ(data->offset, stream.size());
      stream += data->bytes;
    } else if (auto* end = std::get_if<core::OutputEnd>(&*event)) {
      seen.end = end->command;
    } else {
      ADD_FAILURE() << "a gap";
    }
  }
  co_return seen;
}

// A source of chunks, and then its end or an error.
class Chunks final : public ByteSource {
 public:
  explicit Chunks(std::vector<Bytes> chunks, std::optional<Error> error = {})
      : chunks_(std::move(chunks)), error_(std::move(error)) {}
  Task<Bytes> next() override {
    if (at_ < chunks_.size()) co_return chunks_[at_++];
    if (error_) co_return *error_;
    co_return Bytes();
  }

 private:
  std::vector<Bytes> chunks_;
  std::optional<Error> error_;
  std::size_t at_ = 0;
};

class ConformanceTest : public ::testing::TestWithParam<keeper::testing::Transport> {
 protected:
  // `change` may adjust the keeper's context.
  explicit ConformanceTest(const std::function<void(keeper::Context&)>& change = {})
      : keeper_(GetParam(), change) {}

  // Before the loop: the keeper is a fork of this process.
  keeper::testing::LocalKeeper keeper_;
  asio::io_context loop_;
  std::shared_ptr<PersistentLink> line_;
  std::shared_ptr<KeeperSandbox> box_;

  // A test may add to the connection what its runtime has.
  virtual KeeperExtras extras() { return {}; }

  void SetUp() override { connect(straight(keeper_)); }
  void TearDown() override {
    box_.reset();
    loop_.restart();
    loop_.poll();
  }

  void connect(Dialer dialer) {
    wire::Hello hello;
    hello.role = "daemon";
    hello.notes = true;
    line_ = keeper_line(loop_.get_executor(), {std::move(dialer), kSandbox, "test", keeper_.key()},
                        hello);
    line_->start();
    box_ = std::make_shared<KeeperSandbox>(line_, extras());
  }

  // The coroutine runs to its end on the fixture's loop.
  template <class Body>
  void play(Body body) {
    cay::testing::run<void>(loop_, body());
  }

  static CommandSpec shell(std::string id, std::string script) {
    CommandSpec spec;
    spec.id = CommandId(std::move(id));
    spec.argv = {"/bin/sh", "-c", std::move(script)};
    spec.run.workdir = "/";
    return spec;
  }
  Task<Seen> run_command(CommandSpec spec) {
    const CommandId id = spec.id;
    CAY_CO_TRY(const auto command, co_await box_->start(std::move(spec)));
    CAY_CO_TRY(auto reader, co_await box_->attach(id, {}));
    auto seen = co_await drain(*reader);
    co_return seen;
  }
  std::string path(const std::string& name) const { return keeper_.home() + "/" + name; }
};

inline std::string transport_name(
    const ::testing::TestParamInfo<keeper::testing::Transport>& info) {
  return info.param == keeper::testing::Transport::kUnix ? "Unix" : "Tcp";
}

}  // namespace cay::runtime::testing
