// ServerConnection: a TLS connection to the server of a rule, at an address that may be reached.
#pragma once
#include <memory>
#include <string>

#include "http/channel.h"
#include "http/raw_stream.h"
#include "vault/relay.h"
#include "vault/rules.h"

namespace cay::vault {

// Returns whether bytes have arrived that were not read yet, as far as this is known without a
// wait. An end of the stream does not count.
bool has_more(http::Channel& channel);

struct ServerConnection {
  ProxyHost host;
  std::shared_ptr<http::Channel> channel;
  std::unique_ptr<http::RawStream> stream;

  // Returns whether the server has neither closed the connection nor sent anything since the last
  // response.
  bool is_quiet() const;
  // Every coroutine that waits for the connection sees its end.
  void reset() { http::RawStream::reset(*channel); }
};

// Connects to `host` and checks its certificate.
//
// `asker` is the sandbox for which names are looked up (gate/resolver.h). `buffers` are the sizes
// for the socket that the gate has counted. `address` becomes the address that was tried last.
//
// Fails:
// - kUnavailable: lookup_failed, name_not_found, unreachable, no_answer, tls_failed, proxy_…
// - kPermissionDenied: private_address
Task<std::unique_ptr<ServerConnection>> dial(RelayHouse& house, ProxyHost host, std::string asker,
                                             std::string& address, gate::BufferSizes buffers);

// Wraps the socket of a connection for http.
http::Transport transport_of(const asio::any_io_executor& loop, UniqueFd fd);

}  // namespace cay::vault
