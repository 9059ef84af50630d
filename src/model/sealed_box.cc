#include "model/sealed_box.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <sys/random.h>

#include <array>
#include <memory>

#include "base/assert.h"

namespace cay {
namespace {

constexpr std::size_t kNonce = 12;
constexpr std::size_t kTag = 16;
constexpr std::size_t kKey = 32;
constexpr std::string_view kPurpose = "cay sealed box 1";

template <auto Free>
struct FreedBy {
  template <class T>
  void operator()(T* what) const {
    Free(what);
  }
};
using Key = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using KeyWork = std::unique_ptr<EVP_PKEY_CTX, FreedBy<EVP_PKEY_CTX_free>>;
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, FreedBy<EVP_CIPHER_CTX_free>>;

const unsigned char* raw(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* raw(std::string& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

Error failed(const char* what) {
  return {Code::kInternal, "crypto_failed", std::string("the cryptography library failed: ") + what,
          0};
}
Error bad_envelope() {
  return {Code::kInvalidArgument, "bad_envelope",
          "the sealed bytes were not closed for this key, or for another purpose", 0};
}

// Returns the key that both sides can compute, and nobody else.
Result<Wiped> shared_key(EVP_PKEY* own, EVP_PKEY* peer, std::string_view once,
                         std::string_view owner) {
  const KeyWork work(EVP_PKEY_CTX_new(own, nullptr));
  std::size_t size = kKey;
  Wiped secret(std::string(kKey, '\0'));
  if (!work || EVP_PKEY_derive_init(work.get()) != 1 ||
      EVP_PKEY_derive_set_peer(work.get(), peer) != 1 ||
      EVP_PKEY_derive(work.get(), raw(secret.bytes()), &size) != 1 || size != kKey) {
    return bad_envelope();  // a point of small order, too
  }
  std::string salt = std::string(once) + std::string(owner), info(kPurpose);
  Wiped key(std::string(kKey, '\0'));
  const std::unique_ptr<EVP_KDF, FreedBy<EVP_KDF_free>> kdf(
      EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  const std::unique_ptr<EVP_KDF_CTX, FreedBy<EVP_KDF_CTX_free>> derive(
      kdf ? EVP_KDF_CTX_new(kdf.get()) : nullptr);
  char digest[] = "SHA256";
  const std::array<OSSL_PARAM, 5> params = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret.bytes().data(), kKey),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt.data(), salt.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
      OSSL_PARAM_construct_end()};
  if (!derive || EVP_KDF_derive(derive.get(), raw(key.bytes()), kKey, params.data()) != 1)
    return failed("HKDF");
  return key;
}

Result<std::string> encrypt_with(std::string_view key, std::string_view nonce,
                                 std::string_view about, std::string_view plain) {
  const Cipher work(EVP_CIPHER_CTX_new());
  std::string out(plain.size() + kTag, '\0');
  int size = 0, rest = 0;
  const bool done =
      work && key.size() == kKey &&
      EVP_EncryptInit_ex(work.get(), EVP_aes_256_gcm(), nullptr, raw(key), raw(nonce)) == 1 &&
      EVP_EncryptUpdate(work.get(), nullptr, &rest, raw(about), static_cast<int>(about.size())) ==
          1 &&
      EVP_EncryptUpdate(work.get(), raw(out), &size, raw(plain), static_cast<int>(plain.size())) ==
          1 &&
      EVP_EncryptFinal_ex(work.get(), raw(out) + size, &rest) == 1 &&
      EVP_CIPHER_CTX_ctrl(work.get(), EVP_CTRL_GCM_GET_TAG, static_cast<int>(kTag),
                          raw(out) + plain.size()) == 1;
  if (!done) return failed("AES-256-GCM");
  return out;
}

Result<Wiped> decrypt_with(std::string_view key, std::string_view nonce, std::string_view about,
                           std::string_view sealed) {
  if (sealed.size() < kTag || key.size() != kKey) return bad_envelope();
  const Cipher work(EVP_CIPHER_CTX_new());
  Wiped out(std::string(sealed.size() - kTag, '\0'));
  std::string tag(sealed.substr(sealed.size() - kTag));
  int size = 0, rest = 0;
  const bool begun =
      work &&
      EVP_DecryptInit_ex(work.get(), EVP_aes_256_gcm(), nullptr, raw(key), raw(nonce)) == 1 &&
      EVP_DecryptUpdate(work.get(), nullptr, &rest, raw(about), static_cast<int>(about.size())) ==
          1 &&
      EVP_DecryptUpdate(work.get(), raw(out.bytes()), &size, raw(sealed),
                        static_cast<int>(out.bytes().size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(work.get(), EVP_CTRL_GCM_SET_TAG, static_cast<int>(kTag), tag.data()) ==
          1;
  if (!begun) return failed("AES-256-GCM");
  if (EVP_DecryptFinal_ex(work.get(), raw(out.bytes()) + size, &rest) != 1) return bad_envelope();
  return out;
}

Key private_from(std::string_view key) {
  return Key(key.size() == kKey
                 ? EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, raw(key), key.size())
                 : nullptr);
}
Key public_from(std::string_view key) {
  return Key(key.size() == kKey
                 ? EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, raw(key), key.size())
                 : nullptr);
}

// Each key of a box is used once: the nonce may be the same.
std::string no_nonce() { return std::string(kNonce, '\0'); }

}  // namespace

std::string random_bytes(std::size_t count) {
  std::string out(count, '\0');
  CAY_ASSERT(::getrandom(out.data(), count, 0) == static_cast<ssize_t>(count));
  return out;
}

Result<BoxKeys> new_box_keys() {
  BoxKeys out;
  out.private_key = Wiped(random_bytes(kKey));
  CAY_TRY(out.public_key, box_public_key(out.private_key.view()));
  return out;
}

Result<std::string> box_public_key(std::string_view private_key) {
  const Key key = private_from(private_key);
  std::string out(kKey, '\0');
  std::size_t size = kKey;
  if (!key || EVP_PKEY_get_raw_public_key(key.get(), raw(out), &size) != 1) return failed("X25519");
  return out;
}

Result<std::string> close_box(std::string_view public_key, std::string_view about,
                              std::string_view plain) {
  const Key peer = public_from(public_key);
  if (!peer) return Error{Code::kInvalidArgument, "bad_envelope", "a public key has 32 bytes", 0};
  CAY_TRY(const BoxKeys once, new_box_keys());
  const Key own = private_from(once.private_key.view());
  if (!own) return failed("X25519");
  CAY_TRY(const Wiped key, shared_key(own.get(), peer.get(), once.public_key, public_key));
  CAY_TRY(const std::string sealed, encrypt_with(key.view(), no_nonce(), about, plain));
  return once.public_key + sealed;
}

Result<Wiped> open_box(std::string_view private_key, std::string_view about, std::string_view box) {
  if (box.size() < kKey + kTag) return bad_envelope();
  const Key own = private_from(private_key);
  const Key peer = public_from(box.substr(0, kKey));
  if (!own || !peer) return bad_envelope();
  CAY_TRY(const std::string owner, box_public_key(private_key));
  CAY_TRY(const Wiped key, shared_key(own.get(), peer.get(), box.substr(0, kKey), owner));
  return decrypt_with(key.view(), no_nonce(), about, box.substr(kKey));
}

Result<std::string> encrypt(std::string_view key, std::string_view about, std::string_view plain) {
  const std::string nonce = random_bytes(kNonce);
  CAY_TRY(const std::string sealed, encrypt_with(key, nonce, about, plain));
  return nonce + sealed;
}

Result<Wiped> decrypt(std::string_view key, std::string_view about, std::string_view sealed) {
  if (sealed.size() < kNonce + kTag) return bad_envelope();
  return decrypt_with(key, sealed.substr(0, kNonce), about, sealed.substr(kNonce));
}

}  // namespace cay
