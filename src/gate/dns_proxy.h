// DnsProxy: answers every DNS question of one sandbox, by its policy and the host's own resolver.
#pragma once
#include <sys/socket.h>

#include <cstddef>
#include <string>

#include "async/event.h"
#include "async/scope.h"
#include "gate/counted.h"
#include "gate/egress_state.h"
#include "gate/sockets.h"

namespace cay::gate {

class DnsProxy {
 public:
  static constexpr std::size_t kMostQuestions = 128;  // being answered at once

  // Both outlive the proxy.
  DnsProxy(EgressState& state, Scope& children);

  // Answers what comes to a UDP socket, until it is cancelled.
  asio::awaitable<void> serve_datagrams(Descriptor& at);
  // Answers the questions of a TCP connection, until the client ends it.
  asio::awaitable<void> serve_stream(Descriptor& client);

 private:
  struct Asker {
    sockaddr_storage at{};
    socklen_t size = sizeof at;
  };
  // Counts a question while it is being answered.
  class Question {
   public:
    explicit Question(DnsProxy& proxy) : proxy_(proxy), counted_(proxy.questions_) {}
    Question(const Question&) = delete;
    Question& operator=(const Question&) = delete;
    ~Question() { proxy_.fewer_questions_.set(); }

   private:
    DnsProxy& proxy_;
    const Counted counted_;
  };

  asio::awaitable<void> answer_datagram(Descriptor& at, std::string message, Asker from);
  // Returns the answer in at most `room` bytes (0: what the question offers), or nothing if the
  // message is no question.
  asio::awaitable<std::string> answer(std::string message, std::size_t room);

  EgressState& state_;
  Scope& children_;
  std::size_t questions_ = 0;
  Event fewer_questions_;
};

}  // namespace cay::gate
