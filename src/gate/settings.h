// Settings: what the operator told the gate. Handed over as bytes (wire/tlv.h), so that the gate's process never holds
// the rest of the configuration, which may have keys in it.
#pragma once
#include <string>
#include <vector>

namespace cay::gate {

struct Settings {
  std::string data;                   // the data directory, absolute
  std::vector<std::string> hosts;     // added to the policy `packages`: see Policy
  std::vector<std::string> networks;  // special ranges that may be reached, as "10.1.0.0/16"
  template <class V> void fields(V& v) { v(1, data); v(2, hosts); v(3, networks); }
};

}  // namespace cay::gate
