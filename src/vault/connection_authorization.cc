#include "vault/connection_authorization.h"

#include <openssl/evp.h>

#include <memory>
#include <string_view>
#include <utility>

namespace cay::vault {
namespace {

// Returns the SHA-256 of a request without its body, or nothing if memory ran out. The request
// itself contains a secret, which must not lie in memory for as long as a WebSocket lives.
std::string digest_of(const Rewritten& request) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> sum(::EVP_MD_CTX_new(),
                                                                    ::EVP_MD_CTX_free);
  bool fine = sum && ::EVP_DigestInit_ex(sum.get(), ::EVP_sha256(), nullptr) == 1;
  const auto add = [&](std::string_view part) {
    const std::uint64_t size = part.size();
    fine = fine && ::EVP_DigestUpdate(sum.get(), &size, sizeof size) == 1 &&
           ::EVP_DigestUpdate(sum.get(), part.data(), part.size()) == 1;
  };
  add(request.to.text());
  add(request.target);
  for (const auto& [name, value] : request.headers.items()) {
    add(name);
    add(value);
  }
  std::string out(static_cast<std::size_t>(EVP_MAX_MD_SIZE), '\0');
  unsigned size = 0;
  fine = fine &&
         ::EVP_DigestFinal_ex(sum.get(), reinterpret_cast<unsigned char*>(out.data()), &size) == 1;
  out.resize(fine ? size : 0);
  return out;
}

}  // namespace

void ConnectionAuthorization::begin(ClientRequest asked, const Rewritten& by) {
  asked_ = std::move(asked);
  digest_ = digest_of(by);
}

void ConnectionAuthorization::end() {
  asked_.reset();
  digest_.clear();
}

bool ConnectionAuthorization::is_valid(const wire::VaultGrant* now, const Unseal& unseal) const {
  if (now == nullptr) return false;
  const bool is_brokers = host_.empty() ? routes_of(*now).base_url : intercepts(*now, host_, port_);
  if (!is_brokers || !asked_) return is_brokers;
  const auto again = rewrite(*now, *asked_, unseal);
  return again && !digest_.empty() && digest_of(*again) == digest_;
}

}  // namespace cay::vault
