#include "vault/authority.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

namespace cay::vault {
namespace {

X509* read(const std::string& pem) {
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* out = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  return out;
}

// Whether a client that trusts `authority` alone takes `leaf` for `host`.
bool is_trusted(X509* authority, X509* leaf, const char* host) {
  X509_STORE* store = X509_STORE_new();
  X509_STORE_add_cert(store, authority);
  X509_STORE_CTX* context = X509_STORE_CTX_new();
  X509_STORE_CTX_init(context, store, leaf, nullptr);
  X509_VERIFY_PARAM_set1_host(X509_STORE_CTX_get0_param(context), host, 0);
  X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_SERVER);
  const bool good = X509_verify_cert(context) == 1;
  X509_STORE_CTX_free(context);
  X509_STORE_free(store);
  return good;
}

TEST(AuthorityTest, ItsCertificatesAreForItsOwnSandboxAndOneName) {
  auto one = Authority::make("0b0e5b1c-7c2e-4c39-9d8f-1f2a3b4c5d6e");
  auto other = Authority::make("0b0e5b1c-7c2e-4c39-9d8f-1f2a3b4c5d6f");
  ASSERT_TRUE(one && other);
  auto context = one->context_for("api.test");
  ASSERT_TRUE(context) << context.error().message;
  X509* const root = read(one->certificate());
  X509* const stranger = read(other->certificate());
  X509* const leaf = SSL_CTX_get0_certificate(*context);
  EXPECT_TRUE(is_trusted(root, leaf, "api.test"));
  EXPECT_FALSE(is_trusted(root, leaf, "other.test"));
  EXPECT_FALSE(is_trusted(stranger, leaf, "api.test"));
  EXPECT_EQ(X509_check_ca(leaf), 0) << "no leaf signs another";
  EXPECT_EQ(*one->context_for("api.test"), *context) << "kept";
  EXPECT_TRUE(one->is_fresh());
  X509_free(root);
  X509_free(stranger);
}

TEST(AuthorityTest, ItGoesOnAfterARestart) {
  auto one = Authority::make("s");
  ASSERT_TRUE(one);
  const auto key = one->key();
  ASSERT_TRUE(key);
  EXPECT_EQ(one->certificate().find("PRIVATE"), std::string::npos);
  auto again = Authority::load(one->certificate(), *key);
  ASSERT_TRUE(again);
  auto context = again->context_for("api.test");
  ASSERT_TRUE(context);
  X509* const root = read(one->certificate());
  EXPECT_TRUE(is_trusted(root, SSL_CTX_get0_certificate(*context), "api.test"));
  X509_free(root);
  EXPECT_FALSE(Authority::load("nonsense", *key));
}

TEST(AuthorityTest, NamesThatAreManyMakeRoom) {
  auto one = Authority::make("s");
  ASSERT_TRUE(one);
  for (std::size_t i = 0; i < Authority::kMostNames + 3; ++i)
    ASSERT_TRUE(one->context_for("h" + std::to_string(i) + ".test"));
}

}  // namespace
}  // namespace cay::vault
