// Outside: the server of a rule, reached at a public address and by a certificate that was checked.
#pragma once
#include <memory>
#include <string>

#include "http/channel.h"
#include "http/raw_stream.h"
#include "vault/relay.h"
#include "vault/rules.h"

namespace cay::vault {

// Whether something has come that was not read yet, as far as it can be told without a wait; an end
// is nothing.
bool has_more(http::Channel& channel);

struct Outside {
  ProxyHost host;
  std::shared_ptr<http::Channel> channel;
  std::unique_ptr<http::RawStream> stream;

  // Whether it, asked before, has neither ended the connection nor said anything since.
  bool is_quiet() const;
  // What waits for it sees its end.
  void reset() { http::RawStream::reset(*channel); }
};

// `asker`: the sandbox for which names are looked up (gate/resolver.h). `address` becomes that
// which was tried last, also where none could be reached: kUnavailable (lookup_failed,
// name_not_found, unreachable, no_answer, tls_failed, proxy_…), kPermissionDenied
// (private_address). `buffers`: of the socket, which the gate has counted.
Task<std::unique_ptr<Outside>> reach(RelayHouse& house, ProxyHost host, std::string asker,
                                     std::string& address, gate::BufferSizes buffers);

// A connection's socket as what http speaks over.
http::Transport transport_of(const asio::any_io_executor& loop, UniqueFd fd);

}  // namespace cay::vault
