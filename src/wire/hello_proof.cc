#include "wire/hello_proof.h"

#include "base/sha256.h"
#include "wire/messages.h"

namespace cay::wire {
namespace {

bool has_nonce(std::string_view payload) {
  const auto hello = decode<Hello>(payload);
  return hello && hello->nonce.size() == kHelloNonce;
}

bool same(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned differs = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    differs |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i]);
  return differs == 0;
}

}  // namespace

std::string prove_hello(std::string_view key, Prover by, const Hellos& both) {
  // The two sides' labels differ, so that neither side's proof can be sent back to it. The digests
  // have a fixed length, so that no two pairs of HELLOs read the same.
  std::string text = by == Prover::kDaemon ? "cay hello 1: daemon\n" : "cay hello 1: keeper\n";
  text += sha256(both.keeper);
  text += sha256(both.daemon);
  return hmac_sha256(key, text);
}

bool is_proved(std::string_view key, Prover by, const Hellos& both, std::string_view mac) {
  if (key.size() < kHelloKey || !has_nonce(both.keeper) || !has_nonce(both.daemon)) return false;
  return same(prove_hello(key, by, both), mac);
}

}  // namespace cay::wire
