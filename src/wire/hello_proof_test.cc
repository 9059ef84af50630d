#include "wire/hello_proof.h"

#include <gtest/gtest.h>

#include "wire/messages.h"

namespace cay::wire {
namespace {

const std::string kKey(kHelloKey, 'k');

std::string hello(const std::string& role, char nonce, std::size_t size = kHelloNonce) {
  Hello out;
  out.role = role;
  out.nonce.assign(size, nonce);
  return encode(out);
}

TEST(HelloProofTest, EachSidesProofHoldsForThatSideAlone) {
  const std::string keeper = hello("keeper", 'a'), daemon = hello("daemon", 'b');
  const Hellos both{keeper, daemon};
  const std::string by_daemon = prove_hello(kKey, Prover::kDaemon, both);
  const std::string by_keeper = prove_hello(kKey, Prover::kKeeper, both);
  EXPECT_EQ(by_daemon.size(), 32u);
  EXPECT_TRUE(is_proved(kKey, Prover::kDaemon, both, by_daemon));
  EXPECT_TRUE(is_proved(kKey, Prover::kKeeper, both, by_keeper));
  EXPECT_FALSE(is_proved(kKey, Prover::kKeeper, both, by_daemon)) << "reflected";
  EXPECT_FALSE(is_proved(kKey, Prover::kDaemon, both, by_keeper)) << "reflected";
}

TEST(HelloProofTest, AnythingElseIsNoProof) {
  const std::string keeper = hello("keeper", 'a'), daemon = hello("daemon", 'b');
  const Hellos both{keeper, daemon};
  const std::string mac = prove_hello(kKey, Prover::kDaemon, both);
  EXPECT_FALSE(is_proved(std::string(kHelloKey, 'x'), Prover::kDaemon, both, mac)) << "other key";
  EXPECT_FALSE(is_proved(kKey, Prover::kDaemon, both, "")) << "none";
  EXPECT_FALSE(is_proved(kKey, Prover::kDaemon, both, mac.substr(0, 31))) << "cut";
  EXPECT_FALSE(is_proved(kKey, Prover::kDaemon, both, mac + '\0')) << "longer";
  std::string changed = mac;
  changed.back() = static_cast<char>(changed.back() ^ 1);
  EXPECT_FALSE(is_proved(kKey, Prover::kDaemon, both, changed)) << "one bit";
  const std::string anew = hello("keeper", 'c'), as_tunnel = hello("tunnel", 'b');
  EXPECT_FALSE(is_proved(kKey, Prover::kDaemon, {anew, daemon}, mac)) << "replayed";
  EXPECT_FALSE(is_proved(kKey, Prover::kDaemon, {keeper, as_tunnel}, mac)) << "HELLO changed";
}

TEST(HelloProofTest, WithoutNoncesOrKeyNothingIsAProof) {
  const std::string keeper = hello("keeper", 'a'), daemon = hello("daemon", 'b');
  const std::string bare = hello("keeper", 'a', 0), brief = hello("daemon", 'b', 31);
  for (const Hellos& both : {Hellos{bare, daemon}, Hellos{keeper, brief}, Hellos{"x", daemon}}) {
    EXPECT_FALSE(is_proved(kKey, Prover::kDaemon, both, prove_hello(kKey, Prover::kDaemon, both)));
  }
  const Hellos both{keeper, daemon};
  for (const std::string& key : {std::string(), std::string(kHelloKey - 1, 'k')})
    EXPECT_FALSE(is_proved(key, Prover::kDaemon, both, prove_hello(key, Prover::kDaemon, both)));
}

}  // namespace
}  // namespace cay::wire
