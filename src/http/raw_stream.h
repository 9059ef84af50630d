// RawStream: the bytes of a connection that is no longer HTTP.
#pragma once
#include "http/channel.h"

namespace cay::http {

class RawStream final : public ByteStream {
 public:
  // `early`: what was read of it already.
  RawStream(Channel channel, Bytes early);
  ~RawStream() override;

  Task<Bytes> read() override;
  Task<void> write(Bytes bytes) override;
  Task<void> shut_write() override;

 private:
  Channel channel_;
  Bytes early_;
  bool ended_ = false, shut_ = false;
};

}  // namespace cay::http
