// Settings: the operator's settings for the image process, passed as bytes (wire/tlv.h).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace cay::image {

// A server that has copies of a registry's images.
struct Mirror {
  std::string registry;  // "docker.io"
  std::string url;       // "http://localhost:5000", "https://mirror.example/hub"
  template <class V>
  void fields(V& v) {
    v(1, registry);
    v(2, url);
  }
};

// The operator's HTTP proxy, as gate::ProxySettings has it.
struct Proxy {
  std::string host;  // empty: there is none
  std::uint64_t port = 0;
  std::string authorization;         // the header's value; a secret. Empty: none
  std::vector<std::string> not_for;  // hosts and domains that are reached directly; "*": all
  template <class V>
  void fields(V& v) {
    v(1, host);
    v(2, port);
    v(3, authorization);
    v(4, not_for);
  }
};

struct Settings {
  std::string data;           // the data directory, absolute
  std::uint64_t daemon = 0;   // the uid that may connect
  std::string authorities{};  // a PEM file that is trusted besides the system's; empty: none
  std::uint64_t cache_bytes = std::uint64_t{10} << 30;  // of blobs that are kept
  std::vector<Mirror> mirrors{};                        // in the order in which they are tried
  Proxy proxy{};
  template <class V>
  void fields(V& v) {
    v(1, data);
    v(2, daemon);
    v(3, authorities);
    v(4, cache_bytes);
    v(5, mirrors);
    v(6, proxy);
  }
};

}  // namespace cay::image
