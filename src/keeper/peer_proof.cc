#include "keeper/peer_proof.h"

#include <utility>

#include "os/random.h"
#include "os/unix_socket.h"
#include "wire/hello_proof.h"

namespace cay::keeper {
namespace {

using wire::Type;

constexpr std::uint32_t kMostUnproved = 16 * 1024;  // a HELLO has some hundred bytes

}  // namespace

PeerProof::PeerProof(const DaemonProof& by, wire::Hello ours) : by_(by) {
  if (key() != nullptr) {
    // Without a nonce no proof is accepted (wire::is_proved).
    auto nonce = os::random_bytes(wire::kHelloNonce);
    if (nonce) ours.nonce = *std::move(nonce);
  }
  ours_ = wire::encode(ours);
}

const std::string* PeerProof::key() const {
  const auto* shared = std::get_if<SharedKey>(&by_);
  return shared == nullptr ? nullptr : &shared->key;
}

bool PeerProof::admits(const DaemonProof& by, int socket_fd) {
  const auto* credentials = std::get_if<PeerCredentials>(&by);
  return credentials == nullptr || os::peer_is(socket_fd, credentials->daemon_uid);
}

std::uint32_t PeerProof::most_payload() const {
  return key() != nullptr ? kMostUnproved : wire::kMaxStartPayload;
}

PeerProof::Step PeerProof::take(const wire::Frame& frame) {
  if (frame.channel != 0) return Step::kRefused;
  if (their_hello_.empty()) return take_hello(frame);
  const auto proof = wire::decode<wire::Proof>(frame.payload);
  if (static_cast<Type>(frame.type) != Type::kProof || !proof) return Step::kRefused;
  const bool proved =
      wire::is_proved(*key(), wire::Prover::kDaemon, {ours_, their_hello_}, proof->mac);
  return proved ? Step::kProved : Step::kRefused;
}

PeerProof::Step PeerProof::take_hello(const wire::Frame& frame) {
  auto hello = wire::decode<wire::Hello>(frame.payload);
  if (static_cast<Type>(frame.type) != Type::kHello || !hello) return Step::kRefused;
  if (hello->min_version > wire::kProtocolNow || hello->max_version < wire::kProtocolMin)
    return Step::kOtherVersion;
  theirs_ = *std::move(hello);
  if (key() == nullptr) return Step::kProved;  // by its credentials, as it connected
  if (frame.payload.empty()) return Step::kRefused;
  their_hello_ = frame.payload;
  return Step::kMore;
}

std::string PeerProof::answer() const {
  if (key() == nullptr) return "";
  wire::Proof proof;
  proof.mac = wire::prove_hello(*key(), wire::Prover::kKeeper, {ours_, their_hello_});
  return wire::encode(proof);
}

}  // namespace cay::keeper
