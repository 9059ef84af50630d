// Certificates for tests: an authority of the test's own and what it signs, as PEM files in a
// directory that goes with the object.
#pragma once
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/freed_by.h"
#include "base/testing/temp_dir.h"

namespace cay::http::testing {

using KeyPtr = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, FreedBy<X509_free>>;

class Authority {
 public:
  explicit Authority(const std::string& name) {
    key_.reset(EVP_EC_gen("P-256"));
    certificate_ = make(name, *key_, nullptr, {{NID_basic_constraints, "critical,CA:TRUE"}}, 3600);
    write(file(), *certificate_);
  }

  // The PEM file of its own certificate.
  std::string file() const { return directory_.path() + "/authority.pem"; }

  // A PEM file with a key and a certificate for `names` ("DNS:localhost", "IP:127.0.0.1"), which
  // ends in so many seconds; negative: it has ended.
  std::string sign(const std::string& names, long seconds = 3600) {
    const KeyPtr key(EVP_EC_gen("P-256"));
    const auto leaf =
        make("server", *key, certificate_.get(), {{NID_subject_alt_name, names}}, seconds);
    const std::string path = directory_.path() + "/server" + std::to_string(++count_) + ".pem";
    write(path, *leaf);
    std::FILE* out = std::fopen(path.c_str(), "ae");
    PEM_write_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(out);
    return path;
  }

 private:
  using Extensions = std::initializer_list<std::pair<int, std::string>>;

  CertificatePtr make(const std::string& name, EVP_PKEY& key, X509* issuer, Extensions extensions,
                      long seconds) {
    CertificatePtr made(X509_new());
    X509_set_version(made.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -7200);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), seconds);
    X509_NAME* subject = X509_get_subject_name(made.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(made.get(), issuer != nullptr ? X509_get_subject_name(issuer) : subject);
    X509_set_pubkey(made.get(), &key);
    for (const auto& [kind, value] : extensions) {
      X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
      X509_add_ext(made.get(), extension, -1);
      X509_EXTENSION_free(extension);
    }
    if (X509_sign(made.get(), key_.get(), EVP_sha256()) == 0) throw std::runtime_error("X509_sign");
    return made;
  }

  static void write(const std::string& path, X509& certificate) {
    std::FILE* out = std::fopen(path.c_str(), "we");
    PEM_write_X509(out, &certificate);
    std::fclose(out);
  }

  const cay::testing::TempDir directory_;
  KeyPtr key_;
  CertificatePtr certificate_;
  long serial_ = 0;
  int count_ = 0;
};

}  // namespace cay::http::testing
