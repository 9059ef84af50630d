// Settings: the operator's settings for the gate. They are passed as bytes (wire/tlv.h), so that
// the gate's process never holds the rest of the configuration, which may have keys in it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace cay::gate {

// The operator's HTTP proxy: gate/upstream_proxy.h.
struct ProxySettings {
  std::string host;  // empty: there is none
  std::uint64_t port = 0;
  std::string authorization;  // the header's value; a secret. Empty: none
  std::vector<std::string>
      not_for;  // hosts, domains and networks that are reached directly; "*": all
  template <class V>
  void fields(V& v) {
    v(1, host);
    v(2, port);
    v(3, authorization);
    v(4, not_for);
  }
};

struct Settings {
  std::string data;                   // the data directory, absolute
  std::vector<std::string> networks;  // special ranges that may be reached, as "10.1.0.0/16"
  std::vector<std::string> policies;  // that the operator allows; empty: all. A sandbox that has
                                      // another one reaches nothing
  std::uint64_t socket_memory =
      0;  // of one sandbox's connections, and of all: gate/socket_memory.h; 0: as usual
  std::uint64_t socket_memory_total = 0;
  std::uint64_t sandbox_sent = 0,
                sandbox_received = 0;  // bytes that one sandbox may move in all; 0: without end
  std::vector<std::string>
      named;  // policies that are not Cay's own presets: policy::Catalogue::texts()
  ProxySettings proxy;
  template <class V>
  void fields(V& v) {
    v(1, data);
    v(3, networks);
    v(4, socket_memory);
    v(5, socket_memory_total);
    v(6, policies);
    v(7, named);
    v(8, sandbox_sent);
    v(9, sandbox_received);
    v(16, proxy);
  }
};

}  // namespace cay::gate
