#include "keeper/testing/client.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

#include "os/random.h"
#include "wire/hello_proof.h"

namespace cay::keeper::testing {

wire::Type type_of(const wire::Frame& frame) { return static_cast<wire::Type>(frame.type); }

wire::ErrorMsg error_of(const wire::Frame& frame) {
  if (type_of(frame) != wire::Type::kError) return {};
  return wire::decode<wire::ErrorMsg>(frame.payload).value_or(wire::ErrorMsg{});
}

wire::Frame Client::receive() {
  for (;;) {
    if (auto frame = reader_.next()) return *std::move(frame);
    if (reader_.bad()) throw std::runtime_error("the keeper sent a bad frame");
    pollfd waiting{socket_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 20'000) == 0) throw std::runtime_error("the keeper sends nothing");
    char buffer[64 * 1024];
    const ssize_t got = ::read(socket_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw std::runtime_error("the keeper hung up");
    reader_.feed(std::string_view(buffer, static_cast<std::size_t>(got)));
  }
}

wire::Frame Client::next(std::uint32_t channel) {
  for (;;) {
    auto& queue = inbox_[channel];
    if (!queue.empty()) {
      wire::Frame frame = std::move(queue.front());
      queue.pop_front();
      return frame;
    }
    wire::Frame frame = receive();
    inbox_[frame.channel].push_back(std::move(frame));
  }
}

void Client::send(wire::Type type, std::uint32_t channel, std::string payload) {
  wire::Frame frame;
  frame.type = static_cast<std::uint16_t>(type);
  frame.channel = channel;
  frame.payload = std::move(payload);
  const std::string bytes = wire::encode_frame(frame);
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t done = ::send(socket_.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw std::runtime_error("the keeper hung up");
    left.remove_prefix(static_cast<std::size_t>(done));
  }
}

wire::Hello Client::hello(bool takes_notes) {
  wire::Hello ours;
  ours.notes = takes_notes;
  ours.role = "daemon";
  if (!key_.empty()) ours.nonce = *os::random_bytes(wire::kHelloNonce);
  const std::string daemon = wire::encode(ours);
  send(wire::Type::kHello, 0, daemon);
  const wire::Frame frame = next(0);
  const auto theirs = wire::decode<wire::Hello>(frame.payload);
  if (type_of(frame) != wire::Type::kHello || !theirs) throw std::runtime_error("no HELLO");
  if (key_.empty()) return *theirs;
  const wire::Hellos both{frame.payload, daemon};
  send(wire::Type::kProof, 0, wire::Proof{wire::prove_hello(key_, wire::Prover::kDaemon, both)});
  const wire::Frame answer = next(0);
  const auto proof = wire::decode<wire::Proof>(answer.payload);
  if (type_of(answer) != wire::Type::kProof || !proof ||
      !wire::is_proved(key_, wire::Prover::kKeeper, both, proof->mac))
    throw std::runtime_error("the keeper proves nothing");
  return *theirs;
}

wire::CommandMsg Client::start(const wire::StartCommand& request) {
  const wire::Frame answer = call(wire::Type::kStart, request);
  if (type_of(answer) != wire::Type::kCommand)
    throw std::runtime_error("start: " + error_of(answer).message);
  return wire::decode<wire::CommandMsg>(answer.payload).value();
}

Output Client::collect(std::uint32_t channel, std::uint64_t most) {
  Output output;
  for (std::uint64_t seen = 0; seen < most;) {
    const wire::Frame frame = next(channel);
    switch (type_of(frame)) {
      case wire::Type::kCommand: break;
      case wire::Type::kData: {
        const auto data = wire::decode_data(frame.payload).value();
        (data.stream == 1 ? output.out : output.err) += data.bytes;
        if (data.after_end) output.after_end += data.bytes.size();
        seen += data.bytes.size();
        send(wire::Type::kCredit, channel, wire::Credit{data.bytes.size()});
        break;
      }
      case wire::Type::kGap:
        output.gaps.push_back(wire::decode<wire::GapMsg>(frame.payload).value());
        break;
      case wire::Type::kEnd:
        output.end = wire::decode<wire::CommandMsg>(frame.payload).value();
        output.ended = true;
        return output;
      case wire::Type::kError: output.error = error_of(frame); return output;
      default: throw std::runtime_error("an unexpected frame on an attach");
    }
  }
  return output;
}

Output Client::attach(const std::string& id, std::uint64_t out_offset, std::uint64_t err_offset) {
  wire::Attach request;
  request.command_id = id;
  request.out_offset = out_offset;
  request.err_offset = err_offset;
  request.credit = 512 * 1024;
  return collect(ask(wire::Type::kAttach, request));
}

Output Client::run(const wire::StartCommand& request) {
  start(request);
  return attach(request.command_id);
}

}  // namespace cay::keeper::testing
