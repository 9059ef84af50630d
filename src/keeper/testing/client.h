// A blocking client of a keeper, for tests: one socket, frames sorted by channel.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace cay::keeper::testing {

// The result of an attach.
struct Output {
  std::string out, err;         // bytes up to the end; gaps left out
  std::uint64_t after_end = 0;  // bytes marked as after the end
  std::vector<wire::GapMsg> gaps;
  wire::CommandMsg end;
  bool ended = false;
  wire::ErrorMsg error;  // code 0: none
};

class Client {
 public:
  // `key`: proves itself by it (wire/hello_proof.h); empty: the keeper needs no proof.
  explicit Client(UniqueFd socket, std::string key = {})
      : socket_(std::move(socket)), key_(std::move(key)) {}

  // Exchanges HELLO and the proofs; the keeper's HELLO. Throws if the keeper proves nothing.
  wire::Hello hello(bool takes_notes = false);
  std::uint32_t channel() { return next_channel_++; }
  void send(wire::Type type, std::uint32_t channel, std::string payload);
  template <wire::Message T>
  void send(wire::Type type, std::uint32_t channel, const T& message) {
    send(type, channel, wire::encode(message));
  }
  // Sends on a new channel.
  template <wire::Message T>
  std::uint32_t ask(wire::Type type, const T& message) {
    const std::uint32_t number = channel();
    send(type, number, message);
    return number;
  }
  // Returns the next frame of `channel`. Throws when the keeper hangs up or sends nothing for 20 s.
  wire::Frame next(std::uint32_t channel);
  // Whether one has come already.
  bool has(std::uint32_t channel) { return !inbox_[channel].empty(); }
  // One request, one answer.
  template <wire::Message T>
  wire::Frame call(wire::Type type, const T& message) {
    return next(ask(type, message));
  }

  // Starts; throws if that fails.
  wire::CommandMsg start(const wire::StartCommand& request);
  // Attaches and reads to the end, granting credit as it reads.
  Output attach(const std::string& id, std::uint64_t out_offset = 0, std::uint64_t err_offset = 0);
  Output run(const wire::StartCommand& request);
  // Reads an open attach until its end; `most`: stop after about so many bytes of output.
  Output collect(std::uint32_t channel, std::uint64_t most = UINT64_MAX);

  int fd() const { return socket_.get(); }

 private:
  wire::Frame receive();
  UniqueFd socket_;
  std::string key_;
  wire::FrameReader reader_;
  std::map<std::uint32_t, std::deque<wire::Frame>> inbox_;
  std::uint32_t next_channel_ = 1;
};

wire::Type type_of(const wire::Frame& frame);
wire::ErrorMsg error_of(const wire::Frame& frame);

}  // namespace cay::keeper::testing
