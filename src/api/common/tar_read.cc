#include <boost/asio/this_coro.hpp>
#include <system_error>
#include <thread>

#include "api/common/tar.h"
#include "api/common/tar_handover.h"
#include "core/ports/runtime.h"

namespace cay::api {
namespace {

// The parser of one archive and its thread. The thread waits only in the handover, so closing that
// ends it.
class ParserThread {
 public:
  // Throws std::system_error: the host gives no more threads.
  ParserThread(asio::any_io_executor loop, TarLimits limits)
      : handover_(std::move(loop)),
        thread_([this, limits] { handover_.finish(archive::parse_tar(handover_, limits)); }) {}
  ~ParserThread() {
    handover_.close();
    thread_.join();
  }
  ParserThread(const ParserThread&) = delete;
  ParserThread& operator=(const ParserThread&) = delete;

  TarHandover& handover() { return handover_; }

 private:
  TarHandover handover_;
  std::thread thread_;  // last: it uses the handover
};

class TarTree : public core::TreeSource {
 public:
  TarTree(std::unique_ptr<ByteSource> tar, TarLimits limits)
      : tar_(std::move(tar)), limits_(limits) {}

  Task<std::optional<core::TreeEvent>> next() override {
    if (!parser_) {
      auto loop = co_await asio::this_coro::executor;
      auto begun = begin(std::move(loop));
      if (!begun) co_return std::move(begun).error();
    }
    TarHandover& handover = parser_->handover();
    for (;;) {
      switch (handover.turn()) {
        case TarHandover::Turn::kTake: {
          co_return std::optional<core::TreeEvent>(handover.take());
        }
        case TarHandover::Turn::kWait: {
          co_await handover.changed();
          break;
        }
        case TarHandover::Turn::kFeed: {
          auto input = co_await tar_->next();
          if (!input) co_return std::move(input).error();
          source_ended_ = input->empty();
          handover.feed(*std::move(input));
          break;
        }
        case TarHandover::Turn::kEnded: {
          auto result = handover.result();
          if (!result) co_return std::move(result).error();
          auto drained = co_await drain();
          if (!drained) co_return std::move(drained).error();
          co_return std::optional<core::TreeEvent>();
        }
      }
    }
  }

 private:
  Result<void> begin(asio::any_io_executor loop) {
    try {
      parser_.emplace(std::move(loop), limits_);
    } catch (const std::system_error& failed) {
      return Error{
          Code::kExhausted, "no_thread",
          std::string("the host gives no thread to read the archive with (") + failed.what() +
              "): retry when fewer archives are on their way, or raise the service's TasksMax",
          failed.code().value()};
    }
    return {};
  }

  // Reads the padding behind the end mark, so that the connection stays usable.
  Task<void> drain() {
    while (!source_ended_) {
      auto got = co_await tar_->next();
      if (!got) co_return std::move(got).error();
      source_ended_ = got->empty();
    }
    co_return Result<void>();
  }

  std::unique_ptr<ByteSource> tar_;
  TarLimits limits_;
  bool source_ended_ = false;
  std::optional<ParserThread> parser_;
};

}  // namespace

std::unique_ptr<core::TreeSource> tree_of_tar(std::unique_ptr<ByteSource> tar, TarLimits limits) {
  return std::make_unique<TarTree>(std::move(tar), limits);
}

}  // namespace cay::api
