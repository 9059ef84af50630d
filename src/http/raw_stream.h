// RawStream: the bytes of a connection that is no longer HTTP, or never was. Until both of its
// directions have ended its close is a reset, that of a killed program too: nobody takes a part for
// the whole.
#pragma once
#include <functional>
#include <memory>

#include "async/piped.h"
#include "base/hang_up.h"
#include "http/channel.h"

namespace cay::http {

// Switches pacing off. A path that is this machine's memory has no rate to find, and a congestion
// control that paces (bbr, as many hosts have it) only cuts the bytes into small pieces. Where
// "reno" is missing, the socket stays as it was.
void without_pacing(int socket);

// Reads the bytes that are there. A waiting reader holds no buffer. An end is an error here, as
// with async_read_some. It reads at most one record of TLS.
asio::awaitable<Bytes> read_when_there(Channel& channel, ErrorCode& error, std::size_t most);

class RawStream final : public ByteStream, public PipedStream {
 public:
  // `early`: what was read of it already. `lost`: what a broken connection is called.
  RawStream(std::shared_ptr<Channel> channel, Bytes early,
            Error lost = {Code::kUnavailable, "connection_lost", "the connection broke", 0});
  ~RawStream() override;
  // The peer sees a reset; calls under way fail.
  static void reset(Channel& channel);

  Task<Bytes> read() override;
  Task<void> write(Bytes bytes) override;
  Task<void> shut_write() override;
  bool can_splice() const override;
  Task<KernelPipe> read_piped(std::size_t most) override;
  Task<void> write_piped(KernelPipe pipe) override;
  asio::awaitable<void> let_arrive() override;
  void call_breaks(Error lost) { lost_ = std::move(lost); }
  // Called once, when this goes: whether both directions had ended.
  void on_end(std::function<void(bool whole)> told) { on_end_ = std::move(told); }
  bool is_quiet() override {
    return false;
  }  // a client's connection is not used for a second request
  bool has_gone() override { return is_broken(channel_->next_layer().socket().native_handle()); }

 private:
  Error broke(const ErrorCode& error) const;

  std::shared_ptr<Channel> channel_;
  Bytes early_;
  Error lost_;
  bool ended_ = false, shut_ = false;
  std::function<void(bool whole)> on_end_;
};

}  // namespace cay::http
