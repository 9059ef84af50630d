// SecretMatcher: finds secrets in a text, in one pass however many there are.
#pragma once
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/sealed_box.h"
#include "vault/secret_encodings.h"

namespace cay::vault {

// A copy looks for the same secrets and shares their encodings.
class SecretMatcher {
 public:
  // Adds a secret to look for. Adding it twice is harmless.
  void add(std::string_view secret);

  bool finds_in(std::string_view text) const;
  // The bytes that a secret takes at most in any encoding. 0 means that there is none to look for.
  std::size_t longest() const { return longest_; }
  bool shares_encodings_with(const SecretMatcher& other) const {
    return secrets_ == other.secrets_;
  }

 private:
  friend class EncodingCache;
  using Shared = std::shared_ptr<const SecretEncodings>;
  struct Candidate {
    const SecretEncodings* secret;
    const SecretEncodings::Pattern* pattern;
  };
  static constexpr std::size_t kValues = 256;  // of a byte

  void index();
  bool begins_at(std::string_view text, Escaping escaping) const;

  std::map<std::string, Shared> secrets_;  // by their digests
  std::vector<Candidate> candidates_;      // sorted by the first character of their patterns
  std::array<std::uint32_t, kValues + 1> first_{};  // where those of a first character begin
  std::bitset<kValues * kValues> may_begin_;        // the first two bytes, if the first is plain
  std::size_t longest_ = 0;
};

// EncodingCache: makes the encodings of a secret once for all connections that look for it.
class EncodingCache {
 public:
  // Returns a matcher that looks for what `before` does and for `secrets`.
  SecretMatcher matcher(const SecretMatcher& before, const std::vector<Wiped>& secrets);
  // How many secrets are looked for. The cache keeps none that nobody looks for.
  std::size_t size() const;

 private:
  std::map<std::string, std::weak_ptr<const SecretEncodings>> all_;  // by digest
};

}  // namespace cay::vault
