// How a peer proves that it is the daemon. There are two ways, and none without a proof.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "wire/frame.h"
#include "wire/messages.h"

namespace cay::keeper {

// By SO_PEERCRED of a UNIX socket: this user's peers are served, and root's.
struct PeerCredentials {
  uid_t daemon_uid = 0;
};

// By a key that both sides hold (wire/hello_proof.h), over any transport.
struct SharedKey {
  std::string key;  // of this sandbox alone, wire::kHelloKey bytes or more
};

using DaemonProof = std::variant<PeerCredentials, SharedKey>;

// PeerProof: what one connection has shown so far. It does no I/O but for a random nonce.
class PeerProof {
 public:
  // `ours` is the keeper's HELLO. PeerProof adds the nonce.
  PeerProof(const DaemonProof& by, wire::Hello ours);

  // Whether the connection may begin: at once, before any byte is read.
  static bool admits(const DaemonProof& by, int socket_fd);
  // Most bytes of a frame before the peer is proved.
  std::uint32_t most_payload() const;

  // The payload of our HELLO.
  const std::string& hello() const { return ours_; }

  enum class Step {
    kRefused,       // close it, without an answer
    kOtherVersion,  // of the protocol
    kMore,          // its next frame decides
    kProved,
  };
  // Takes the peer's next frame, until kProved.
  Step take(const wire::Frame& frame);

  // Once proved: the peer's HELLO, and the keeper's own proof (empty: the peer needs none).
  const wire::Hello& theirs() const { return theirs_; }
  std::string answer() const;

 private:
  Step take_hello(const wire::Frame& frame);
  const std::string* key() const;

  const DaemonProof& by_;
  std::string ours_;  // payloads of the HELLOs
  std::string their_hello_;
  wire::Hello theirs_;
};

}  // namespace cay::keeper
