// Settings: the operator's settings for the image process, passed as bytes (wire/tlv.h).
#pragma once
#include <cstdint>
#include <string>

namespace cay::image {

struct Settings {
  std::string data;           // the data directory, absolute
  std::uint64_t daemon = 0;   // the uid that may connect
  std::string authorities{};  // a PEM file that is trusted besides the system's; empty: none
  std::uint64_t cache_bytes = std::uint64_t{10} << 30;  // of blobs that are kept
  template <class V>
  void fields(V& v) {
    v(1, data);
    v(2, daemon);
    v(3, authorities);
    v(4, cache_bytes);
  }
};

}  // namespace cay::image
