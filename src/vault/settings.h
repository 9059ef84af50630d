// Settings: the operator's configuration of the broker. The daemon passes it as bytes (wire/tlv.h)
// in memory alone, because it may hold a passphrase.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gate/settings.h"

namespace cay::vault {

struct Settings {
  std::string data;                            // the data directory, absolute
  std::uint64_t daemon_uid = 0, gate_uid = 0;  // who may speak with it, each by a socket of its own
  std::vector<std::string> networks;  // special ranges that may be reached (network.networks)
  std::string authorities;            // PEM: trusted beside the system's
  std::string passphrase, previous_passphrase;
  gate::ProxySettings proxy;  // that connections to servers go by
  template <class V>
  void fields(V& v) {
    v(1, data);
    v(2, daemon_uid);
    v(3, gate_uid);
    v(4, networks);
    v(5, authorities);
    v(6, passphrase);
    v(7, previous_passphrase);
    v(8, proxy);
  }
};

}  // namespace cay::vault
