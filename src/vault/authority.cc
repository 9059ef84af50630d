#include "vault/authority.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>

namespace cay::vault {
namespace {

constexpr long kHour = 3600;
constexpr long kDay = 24 * kHour;
constexpr long kAuthorityDays =
    3650;  // longer than a sandbox runs: its programs look at whom to trust when they begin
constexpr long kFreshDays = 60;
constexpr UnixMillis kNewAfter = 12 * kHour * 1000;
constexpr std::size_t kSerialBytes = 16;
constexpr std::size_t kMostCommonName = 64;

Error failed(const char* what) {
  return {Code::kInternal, "crypto_failed", std::string("the cryptography library failed: ") + what,
          0};
}

struct BioFreed {
  void operator()(BIO* what) const { BIO_free_all(what); }
};
using Bio = std::unique_ptr<BIO, BioFreed>;

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(std::max(size, 0L))};
}

bool add_extension(X509* to, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  if (extension == nullptr) return false;
  const bool added = X509_add_ext(to, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

// HTTP/1.1 whatever else is offered: what follows is read as that.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
  static constexpr unsigned char kHttp11[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, size, kHttp11, sizeof kHttp11 - 1, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

Authority::Key Authority::new_key() { return Key(EVP_EC_gen("P-256")); }

Result<Authority::Certificate> Authority::certificate_for(const std::string& name, EVP_PKEY* key,
                                                          X509* issuer, EVP_PKEY* issuers_key,
                                                          bool is_authority) {
  Certificate made(X509_new());
  const std::string serial = random_bytes(kSerialBytes);
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(
      BN_bin2bn(reinterpret_cast<const unsigned char*>(serial.data()), kSerialBytes, nullptr),
      &BN_free);
  const bool begun =
      made && number && X509_set_version(made.get(), X509_VERSION_3) == 1 &&
      BN_clear_bit(number.get(), 127) == 1 &&
      BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(made.get())) != nullptr &&
      X509_gmtime_adj(X509_getm_notBefore(made.get()), -kHour) != nullptr &&
      X509_gmtime_adj(X509_getm_notAfter(made.get()),
                      is_authority ? kAuthorityDays * kDay : kDay) != nullptr &&
      X509_set_pubkey(made.get(), key) == 1;
  const std::string shown = name.substr(0, kMostCommonName);
  X509_NAME* subject = begun ? X509_get_subject_name(made.get()) : nullptr;
  const bool named = subject != nullptr && X509_NAME_add_entry_by_txt(
                                               subject, "CN", MBSTRING_UTF8,
                                               reinterpret_cast<const unsigned char*>(shown.data()),
                                               static_cast<int>(shown.size()), -1, 0) == 1;
  if (!named) return failed("a certificate");
  X509* const by = issuer == nullptr ? made.get() : issuer;
  bool done = X509_set_issuer_name(made.get(), X509_get_subject_name(by)) == 1;
  if (is_authority) {
    done = done &&
           add_extension(made.get(), by, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           add_extension(made.get(), by, NID_key_usage, "critical,keyCertSign") &&
           add_extension(made.get(), by, NID_subject_key_identifier, "hash");
  } else {
    done = done && add_extension(made.get(), by, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(made.get(), by, NID_key_usage, "critical,digitalSignature") &&
           add_extension(made.get(), by, NID_ext_key_usage, "serverAuth") &&
           add_extension(made.get(), by, NID_subject_alt_name, "DNS:" + name) &&
           add_extension(made.get(), by, NID_subject_key_identifier, "hash") &&
           add_extension(made.get(), by, NID_authority_key_identifier, "keyid:always");
  }
  if (!done || X509_sign(made.get(), issuers_key, EVP_sha256()) == 0)
    return failed("a certificate");
  return made;
}

Result<Authority> Authority::make(const std::string& sandbox_id) {
  Authority out;
  out.key_ = new_key();
  if (!out.key_) return failed("P-256");
  CAY_TRY(out.certificate_, certificate_for("Cay sandbox " + sandbox_id, out.key_.get(), nullptr,
                                            out.key_.get(), true));
  return out;
}

Result<Authority> Authority::load(const std::string& certificate, const Wiped& key) {
  Authority out;
  const Bio cert_bytes(BIO_new_mem_buf(certificate.data(), static_cast<int>(certificate.size())));
  const Bio key_bytes(BIO_new_mem_buf(key.view().data(), static_cast<int>(key.view().size())));
  out.certificate_.reset(cert_bytes ? PEM_read_bio_X509(cert_bytes.get(), nullptr, nullptr, nullptr)
                                    : nullptr);
  out.key_.reset(key_bytes ? PEM_read_bio_PrivateKey(key_bytes.get(), nullptr, nullptr, nullptr)
                           : nullptr);
  if (!out.certificate_ || !out.key_) return failed("a sandbox's authority");
  return out;
}

std::string Authority::certificate() const {
  const Bio out(BIO_new(BIO_s_mem()));
  if (!out || PEM_write_bio_X509(out.get(), certificate_.get()) != 1) return {};
  return text_of(out.get());
}

Result<Wiped> Authority::key() const {
  const Bio out(BIO_new(BIO_s_secmem()));
  if (!out ||
      PEM_write_bio_PrivateKey(out.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return failed("a key");
  return Wiped(text_of(out.get()));
}

bool Authority::is_fresh() const {
  std::time_t later = std::time(nullptr) + kFreshDays * kDay;
  return X509_cmp_time(X509_get0_notAfter(certificate_.get()), &later) > 0;
}

Result<SSL_CTX*> Authority::context_for(const std::string& host) {
  const UnixMillis now = system_clock().wall();
  const auto found = names_.find(host);
  if (found != names_.end() && now - found->second.made_at < kNewAfter &&
      found->second.made_at <= now)
    return found->second.context.get();
  if (found == names_.end() && names_.size() >= kMostNames)
    names_.erase(
        std::ranges::min_element(names_, {}, [](const auto& one) { return one.second.made_at; }));
  const Key key = new_key();
  if (!key) return failed("P-256");
  CAY_TRY(const Certificate leaf,
          certificate_for(host, key.get(), certificate_.get(), key_.get(), false));
  std::unique_ptr<SSL_CTX, Freed> context(SSL_CTX_new(TLS_server_method()));
  if (!context || SSL_CTX_use_certificate(context.get(), leaf.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1)
    return failed("TLS");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF |
                                         SSL_OP_CLEANSE_PLAINTEXT);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  Named& kept = names_[host];
  kept.context = std::move(context);
  kept.made_at = now;
  return kept.context.get();
}

}  // namespace cay::vault
