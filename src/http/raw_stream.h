// RawStream: the bytes of a connection that is no longer HTTP.
#pragma once
#include "async/piped.h"
#include "http/channel.h"

namespace cay::http {

class RawStream final : public ByteStream, public PipedStream {
 public:
  // `early`: what was read of it already.
  RawStream(Channel channel, Bytes early);
  ~RawStream() override;

  Task<Bytes> read() override;
  Task<void> write(Bytes bytes) override;
  Task<void> shut_write() override;
  bool can_splice() const override;
  Task<KernelPipe> read_piped(std::size_t most) override;
  Task<void> write_piped(KernelPipe pipe) override;
  bool is_quiet() override { return false; }  // nobody asks twice of a client

 private:
  Channel channel_;
  Bytes early_;
  bool ended_ = false, shut_ = false;
};

}  // namespace cay::http
