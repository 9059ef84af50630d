// The requests of daemon and gate to the broker, and its answers: frames of a length (u32,
// little-endian) and a message. A new kind of request is a new number, and members are only added.
// The broker trusts neither: no value of a secret comes back to a daemon.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/tlv.h"

namespace cay::wire {

inline constexpr std::size_t kMostVaultFrame = 4u << 20;

// A secret as the store keeps it. All but `sealed` is sealed in with it, so that no other can be
// made of it.
struct VaultSecret {
  std::string tenant, name;
  std::uint64_t version = 0;
  std::vector<std::string> hosts;
  std::string sealed;
  template <class V>
  void fields(V& v) {
    v(1, tenant);
    v(2, name);
    v(3, version);
    v(4, hosts);
    v(5, sealed);
  }
};

// Whether earlier releases wrote this file in DATA/vault: 64 hexadecimal digits and ".sent".
// The broker removes it, and a restore leaves it out.
inline bool is_former_vault_file(std::string_view name) {
  constexpr std::string_view kSuffix = ".sent";
  return name.size() == 64 + kSuffix.size() && name.ends_with(kSuffix) &&
         name.find_first_not_of("0123456789abcdef") == 64;
}

struct VaultHeader {
  std::string name, value, basic_user;
  template <class V>
  void fields(V& v) {
    v(1, name);
    v(2, value);
    v(3, basic_user);
  }
};

// model/proxy.h's ProxyRule, with its secret.
struct VaultRule {
  std::string name, token;
  std::uint8_t way = 0;
  std::vector<std::string> hosts, paths;
  std::vector<VaultHeader> headers;
  VaultSecret secret;  // without a name: a fence alone
  std::vector<std::string> methods;
  bool gone =
      false;  // the secret was removed, and is not sealed: what would go by the rule is refused
  template <class V>
  void fields(V& v) {
    v(1, name);
    v(2, token);
    v(3, way);
    v(4, hosts);
    v(5, paths);
    v(6, headers);
    v(7, secret);
    v(8, methods);
    v(9, gone);
  }
};

// Orders a daemon's requests about sandboxes: each has a connection of its own, and may be
// overtaken on its way.
struct VaultTurn {
  std::string daemon;  // another one for each that was started; empty: of an older release, whose
                       // words count as they come
  std::uint64_t number = 0;  // grows; a request that is repeated keeps its own
  template <class V>
  void fields(V& v) {
    v(1, daemon);
    v(2, number);
  }
};

// The secrets that one sandbox may use. The broker keeps it, with the authority that it makes for
// it, in DATA/vault.
struct VaultGrant {
  std::string sandbox_id, tenant;
  std::vector<VaultRule> rules;
  std::string authority_cert, authority_key;  // the broker's own: PEM, and sealed
  VaultTurn turn;                             // the broker's own: that of the question
  template <class V>
  void fields(V& v) {
    v(1, sandbox_id);
    v(2, tenant);
    v(3, rules);
    v(4, authority_cert);
    v(5, authority_key);
    v(6, turn);
  }
};

enum class VaultVerb : std::uint8_t {
  kPublicKey = 1,
  kSeal = 2,           // `secret` without `sealed`, and `bytes`: the box that a client closed
  kGrant = 3,          // `grant`; answered with the certificate that the sandbox is to trust
  kRevoke = 4,         // `names`: ids of sandboxes
  kKeepOnly = 5,       // `names`: every other one's grant is removed
  kBeginRotation = 6,  // a new data key, and a new master key where that is a file of the broker's
  kReseal = 7,         // `secret`; answered with it, sealed by the newest data key
  kEndRotation = 8,    // older data keys are forgotten
  kHold = 9,           // nothing: whoever is connected wants a broker
  kWithdraw = 10,      // `secret`: tenant, name, and the version from which on it may be granted
};

struct VaultAsk {
  VaultVerb verb{};
  VaultSecret secret;
  std::string bytes;
  VaultGrant grant;
  std::vector<std::string> names;
  VaultTurn turn;  // kGrant, kRevoke, kKeepOnly
  template <class V>
  void fields(V& v) {
    v(1, verb);
    v(2, secret);
    v(3, bytes);
    v(4, grant);
    v(5, names);
    v(6, turn);
  }
};

struct VaultAnswer {
  std::uint8_t code = 0;  // of base/error.h; 0: done
  std::string reason, message, bytes;
  std::vector<std::string> unusable;  // kGrant: names of rules whose secrets cannot be opened
  template <class V>
  void fields(V& v) {
    v(1, code);
    v(2, reason);
    v(3, message);
    v(4, bytes);
    v(5, unusable);
  }
};

// --- the gate's side ---

// The first frame of each of the gate's connections.
struct BrokerHello {
  bool flow = false;  // with the guest's socket: it is the broker's from now on. Else: what is to
                      // be handed over is to be told
  std::string sandbox_id;
  std::string host;  // the name that the guest's first bytes showed; empty: way base_url
  std::uint16_t port = 0;
  std::string first;         // what was read of it already
  std::uint8_t buffers = 0;  // one more than gate::Buffers: what the connection was charged for. 0:
                             // a gate of an older release, which sends none
  template <class V>
  void fields(V& v) {
    v(1, flow);
    v(2, sandbox_id);
    v(3, host);
    v(4, port);
    v(5, first);
    v(6, buffers);
  }
};

// The hosts of one sandbox. Without hosts, fences and base_url it has none any more.
struct BrokerRoutes {
  std::string sandbox_id;
  bool base_url = false;
  std::vector<std::string> hosts;  // as model/proxy.h's ProxyHost
  bool all_told = false;  // no sandbox: all that there was at the connection's begin was sent
  std::vector<std::string> fences;  // hosts of fences alone: the broker's where the policy lets
                                    // them through, and nobody's past it
  template <class V>
  void fields(V& v) {
    v(1, sandbox_id);
    v(2, base_url);
    v(3, hosts);
    v(4, all_told);
    v(5, fences);
  }
};

// About a connection that was handed over. It is over when the broker's end is closed.
struct BrokerWord {
  std::string host, address;
  std::uint16_t port = 0;
  bool refused = false;  // by a rule; else `reason` is why it failed
  std::string reason;    // empty: it was passed on
  bool opened = false;   // a request began, or was refused; else only bytes are counted
  std::uint64_t sent = 0, received = 0;  // since the last word
  std::string rule{};                    // of way base_url, refused: the proxy rule that it named
  template <class V>
  void fields(V& v) {
    v(1, host);
    v(2, address);
    v(3, port);
    v(4, refused);
    v(5, reason);
    v(6, sent);
    v(7, received);
    v(8, opened);
    v(9, rule);
  }
};

}  // namespace cay::wire
