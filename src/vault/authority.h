// Authority: a certificate authority of one sandbox, which that sandbox alone trusts. Its key never
// leaves the broker; it signs names that the sandbox's rules have, for a day.
#pragma once
#include <openssl/ssl.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "model/sealed_box.h"

namespace cay::vault {

class Authority {
 public:
  static constexpr std::size_t kMostNames = 256;

  static Result<Authority> make(const std::string& sandbox_id);
  static Result<Authority> load(const std::string& certificate, const Wiped& key);  // both PEM

  std::string certificate() const;  // PEM
  Result<Wiped> key() const;        // PEM
  // Whether it will be good for as long as a sandbox may well run.
  bool is_fresh() const;
  // Returns the context that terminates TLS for `host`. It offers HTTP/1.1 alone. The context is
  // cached, and made again when it is half a day old.
  Result<SSL_CTX*> context_for(const std::string& host);

 private:
  struct Freed {
    void operator()(X509* what) const { X509_free(what); }
    void operator()(EVP_PKEY* what) const { EVP_PKEY_free(what); }
    void operator()(SSL_CTX* what) const { SSL_CTX_free(what); }
  };
  using Certificate = std::unique_ptr<X509, Freed>;
  using Key = std::unique_ptr<EVP_PKEY, Freed>;
  struct Named {
    std::unique_ptr<SSL_CTX, Freed> context;
    UnixMillis made_at = 0;
  };
  static Key new_key();
  static Result<Certificate> certificate_for(const std::string& name, EVP_PKEY* key, X509* issuer,
                                             EVP_PKEY* issuers_key, bool is_authority);

  Certificate certificate_;
  Key key_;
  std::map<std::string, Named> names_;
};

}  // namespace cay::vault
