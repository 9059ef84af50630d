#include "async/piped.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <csignal>

#include "async/scope.h"
#include "async/testing.h"

namespace cay {
namespace {

class PipedTest : public ::testing::Test {
 protected:
  PipedTest() {
    std::signal(SIGPIPE, SIG_IGN);
    into(from_, source_);
    into(to_, sink_);
  }
  void into(UniqueFd& far, KernelSocket& near) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    far.reset(ends[0]);
    near.assign(asio::generic::stream_protocol(AF_UNIX, 0), ends[1]);
  }
  // Passes bytes on, in rounds of at most `most` bytes, until the source ends.
  asio::awaitable<std::size_t> pass(std::size_t most) {
    std::size_t all = 0;
    boost::system::error_code failed;
    for (;;) {
      auto pipe = co_await take_from(source_, most, failed);
      EXPECT_TRUE(pipe && !failed) << failed.message();
      if (!pipe || pipe->empty()) co_return all;
      EXPECT_LE(pipe->size(), most);
      all += pipe->size();
      co_await give_to(sink_, *pipe, failed);
      EXPECT_FALSE(failed);
      EXPECT_TRUE(pipe->empty());
    }
  }

  asio::awaitable<void> pass_all() {
    auto passed = co_await pass(KernelPipe::kMost);
    static_cast<void>(passed);
  }

  asio::io_context loop_;
  KernelSocket source_{loop_}, sink_{loop_};
  UniqueFd from_, to_;
};

TEST_F(PipedTest, BytesPassUnchangedUpToTheEnd) {
  const std::string words(100'000, 'w');
  ASSERT_EQ(::send(from_.get(), words.data(), words.size(), 0), 100'000);
  ::shutdown(from_.get(), SHUT_WR);
  EXPECT_EQ(testing::run(loop_, pass(30'000)), words.size());
  std::string got(words.size(), '\0');
  EXPECT_EQ(::recv(to_.get(), got.data(), got.size(), MSG_WAITALL), 100'000);
  EXPECT_EQ(got, words);
}

TEST_F(PipedTest, AReaderThatIsSlowHoldsUpTheWriter) {
  const std::string block(1 << 20, 'b');
  std::size_t sent = 0;
  Scope scope(loop_.get_executor());
  scope.spawn(pass_all());
  for (int idle = 0; idle < 3;) {  // until nothing moves any more
    const auto now = ::send(from_.get(), block.data(), block.size(), MSG_DONTWAIT);
    sent += now > 0 ? static_cast<std::size_t>(now) : 0;
    idle = now > 0 ? 0 : idle + 1;
    loop_.restart();
    loop_.poll();
  }
  EXPECT_GT(sent, 0U);
  EXPECT_LT(sent, 8U << 20) << "what is under way is bounded";
  ::shutdown(from_.get(), SHUT_WR);
  std::size_t got = 0;
  std::string piece(1 << 16, '\0');
  while (got < sent) {
    const auto now = ::recv(to_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    got += now > 0 ? static_cast<std::size_t>(now) : 0;
    loop_.restart();
    loop_.poll();
  }
  EXPECT_EQ(got, sent);
}

TEST_F(PipedTest, ABrokenReaderIsToldAndWhatItDidNotTakeIsInNobodysPipe) {
  to_.reset();
  ASSERT_EQ(::send(from_.get(), "lost", 4, 0), 4);
  boost::system::error_code failed;
  {
    auto pipe = testing::run(loop_, take_from(source_, 10, failed));
    ASSERT_TRUE(pipe);
    EXPECT_EQ(pipe->size(), 4U);
    testing::run(loop_, give_to(sink_, *pipe, failed));
    EXPECT_EQ(failed, asio::error::broken_pipe);
  }
  auto fresh = KernelPipe::make();
  ASSERT_TRUE(fresh);
  ASSERT_EQ(::send(from_.get(), "new", 3, 0), 3);
  EXPECT_EQ(fresh->take(source_.native_handle(), 10), 3);
}

}  // namespace
}  // namespace cay
