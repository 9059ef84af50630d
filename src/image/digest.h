// Digest: SHA-256 of bytes as they come, and the form in which images name it.
#pragma once
#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/freed_by.h"

namespace cay::image {

class Digest {
 public:
  Digest();
  void update(std::string_view bytes);
  // Returns "sha256:" and 64 hex digits. The last call.
  std::string text();

 private:
  std::unique_ptr<EVP_MD_CTX, FreedBy<EVP_MD_CTX_free>> context_;
};

std::string digest_of(std::string_view bytes);
// Whether it is "sha256:" and 64 lower-case hex digits. Images name nothing by other algorithms.
bool is_digest(std::string_view text);
// Returns the 64 digits of a digest.
std::string hex_of(std::string_view digest);

}  // namespace cay::image
