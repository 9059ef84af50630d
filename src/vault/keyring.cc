#include "vault/keyring.h"

#include <fcntl.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>

#include "base/unique_fd.h"
#include "os/file.h"
#include "wire/tlv.h"

namespace cay::vault {
namespace {

constexpr const char* kKeyFile = "key";
constexpr const char* kRingFile = "keyring";
constexpr const char* kSealedFile = "sealed";  // there is something that the ring alone opens
constexpr std::string_view kGrantSuffix = ".grant";
constexpr std::string_view kRingPurpose = "cay keyring 1";
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kMostFile = 1 << 20;
constexpr std::size_t kKeyIdBytes = 8;
// 64 MiB and about a quarter of a second: the parameters that OWASP recommends for scrypt.
constexpr std::uint64_t kScryptN = 1 << 16, kScryptR = 8, kScryptP = 2;
constexpr std::uint64_t kScryptMemory = std::uint64_t{256} << 20;

// One way to open the ring. There are two while the master key changes: whichever of them is there
// opens it.
struct Wrap {
  bool passphrase = false;
  std::string salt, sealed;
  std::uint64_t n = 0, r = 0, p = 0;
  template <class V>
  void fields(V& v) {
    v(1, passphrase);
    v(2, salt);
    v(3, sealed);
    v(4, n);
    v(5, r);
    v(6, p);
  }
};
struct RingFile {
  std::vector<Wrap> wraps;
  template <class V>
  void fields(V& v) {
    v(1, wraps);
  }
};
struct DataKey {
  std::uint64_t id = 0;
  std::string key;
  template <class V>
  void fields(V& v) {
    v(1, id);
    v(2, key);
  }
};
struct Ring {
  std::vector<DataKey> keys;
  std::string box;
  template <class V>
  void fields(V& v) {
    v(1, keys);
    v(2, box);
  }
};

Error locked(const std::string& why) {
  return {Code::kUnavailable, "vault_locked",
          "the vault's keys (DATA/vault/keyring) cannot be opened: " + why, 0};
}

Result<Wiped> scrypt(const Wiped& passphrase, const Wrap& wrap) {
  Wiped out(std::string(kKeyBytes, '\0'));
  std::uint64_t n = wrap.n, r = wrap.r, p = wrap.p, memory = kScryptMemory;
  std::string salt = wrap.salt;
  Wiped phrase{std::string(passphrase.view())};
  struct Free {
    void operator()(EVP_KDF* what) const { EVP_KDF_free(what); }
    void operator()(EVP_KDF_CTX* what) const { EVP_KDF_CTX_free(what); }
  };
  const std::unique_ptr<EVP_KDF, Free> kdf(EVP_KDF_fetch(nullptr, "SCRYPT", nullptr));
  const std::unique_ptr<EVP_KDF_CTX, Free> derive(kdf ? EVP_KDF_CTX_new(kdf.get()) : nullptr);
  const std::array<OSSL_PARAM, 7> params = {
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_PASSWORD, phrase.bytes().data(),
                                        phrase.bytes().size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt.data(), salt.size()),
      OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_N, &n),
      OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_R, &r),
      OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_P, &p),
      OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_MAXMEM, &memory),
      OSSL_PARAM_construct_end()};
  if (!derive || EVP_KDF_derive(derive.get(), reinterpret_cast<unsigned char*>(out.bytes().data()),
                                kKeyBytes, params.data()) != 1) {
    return Error{Code::kInternal, "crypto_failed", "the cryptography library failed: scrypt", 0};
  }
  return out;
}

std::string wrap_purpose(const Wrap& wrap) {
  return std::string(kRingPurpose) + (wrap.passphrase ? " passphrase" : " file");
}

// A ring that was opened; nothing: this wrap is not for that key.
std::optional<Wiped> opened(const Wrap& wrap, const Wiped& key, const Wiped& passphrase) {
  if (wrap.passphrase) {
    if (passphrase.view().empty()) return std::nullopt;
    auto derived = scrypt(passphrase, wrap);
    if (!derived) return std::nullopt;
    auto plain = decrypt(derived->view(), wrap_purpose(wrap), wrap.sealed);
    if (!plain) return std::nullopt;
    return *std::move(plain);
  }
  if (key.view().empty()) return std::nullopt;
  auto plain = decrypt(key.view(), wrap_purpose(wrap), wrap.sealed);
  if (!plain) return std::nullopt;
  return *std::move(plain);
}

void put_id(std::string& out, std::uint64_t id) {
  for (std::size_t i = 0; i < kKeyIdBytes; ++i) out.push_back(static_cast<char>(id >> (8 * i)));
}
std::uint64_t id_of(std::string_view sealed) {
  std::uint64_t id = 0;
  for (std::size_t i = kKeyIdBytes; i-- > 0;) id = id << 8 | static_cast<unsigned char>(sealed[i]);
  return id;
}

// Whether a new ring would make what lies about unreadable for good.
Result<bool> anything_sealed(int directory) {
  if (::faccessat(directory, kSealedFile, F_OK, AT_SYMLINK_NOFOLLOW) == 0) return true;
  CAY_TRY(const std::vector<std::string> names, os::list_dir(directory));
  return std::ranges::any_of(names,
                             [](const std::string& name) { return name.ends_with(kGrantSuffix); });
}

}  // namespace

Result<void> write_durably(int directory, const std::string& name, std::string_view bytes) {
  const std::string fresh = name + ".new";
  ::unlinkat(directory, fresh.c_str(), 0);
  {
    const UniqueFd fd(::openat(directory, fresh.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd ||
        ::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
        ::fsync(fd.get()) != 0) {
      const int err = errno == 0 ? EIO : errno;
      ::unlinkat(directory, fresh.c_str(), 0);
      return Error::from_errno(err, "write DATA/vault/" + name);
    }
  }
  if (::renameat(directory, fresh.c_str(), directory, name.c_str()) != 0)
    return Error::from_errno(errno, "write DATA/vault/" + name);
  if (::fsync(directory) != 0) return Error::from_errno(errno, "write DATA/vault");
  return {};
}

Result<Keyring> Keyring::open(int directory, Master master) {
  Keyring ring(directory, std::move(master));
  auto key = os::read_file(directory, kKeyFile, kMostFile);
  if (!key && key.error().os_errno != ENOENT) return std::move(key).error();
  if (key) ring.key_ = Wiped(*std::move(key));
  auto file = os::read_file(directory, kRingFile, kMostFile);
  if (!file && file.error().os_errno != ENOENT) return std::move(file).error();
  if (file) {
    CAY_CHECK(ring.load(*file));
    return ring;
  }
  CAY_TRY(const bool sealed, anything_sealed(directory));
  if (sealed) {
    return locked(
        "the file is gone, and secrets or grants that it alone opens are here: put it back (a "
        "backup has it); to begin anew without them remove "
        "DATA/vault/sealed and DATA/vault/*.grant, and then set each secret again");
  }
  CAY_CHECK(ring.make());
  return ring;
}

Result<void> Keyring::load(const std::string& file) {
  const auto read = wire::decode<RingFile>(file);
  if (!read || read->wraps.empty()) return locked("the file is broken: restore it from a backup");
  bool by_current = false, done = false;
  for (const bool current : {true, false}) {
    for (const Wrap& wrap : read->wraps) {
      if (done) break;
      // The key that is given now comes first, then the earlier ones: the file and the previous
      // passphrase.
      const bool wants_passphrase = !master_.passphrase.view().empty();
      const Wiped none;
      const bool file_counts = current != wants_passphrase;
      auto plain =
          opened(wrap, file_counts ? key_ : none, current ? master_.passphrase : master_.previous);
      if (!plain) continue;
      done = take(plain->view());
      by_current = current;
    }
  }
  if (!done) {
    return locked(master_.passphrase.view().empty()
                      ? "DATA/vault/key is missing or is another one's, and no passphrase is set: "
                        "put that file back, or set vault.passphrase_file"
                      : "by neither vault.passphrase_file nor vault.previous_passphrase_file: set "
                        "the right one there");
  }
  if (by_current && read->wraps.size() == 1) return {};
  return keep(false);
}

Result<void> Keyring::make() {
  data_keys_[1] = Wiped(random_bytes(kKeyBytes));
  CAY_TRY(BoxKeys box, new_box_keys());
  box_key_ = std::move(box.private_key);
  public_key_ = std::move(box.public_key);
  return keep(false);
}

Wiped Keyring::plain() const {
  Ring ring;
  for (const auto& [id, key] : data_keys_) ring.keys.push_back({id, std::string(key.view())});
  ring.box = std::string(box_key_.view());
  Wiped out(wire::encode(ring));
  for (DataKey& one : ring.keys) wipe(one.key);
  wipe(ring.box);
  return out;
}

bool Keyring::take(std::string_view plain) {
  auto ring = wire::decode<Ring>(plain);
  if (!ring || ring->keys.empty()) return false;
  data_keys_.clear();
  for (DataKey& one : ring->keys) data_keys_[one.id] = Wiped(std::move(one.key));
  box_key_ = Wiped(std::move(ring->box));
  auto open_key = box_public_key(box_key_.view());
  if (!open_key) return false;
  public_key_ = *std::move(open_key);
  return true;
}

Result<std::string> Keyring::sealed_by_file(std::string_view key) const {
  Wrap wrap;
  const Wiped ring = plain();
  CAY_TRY(wrap.sealed, encrypt(key, wrap_purpose(wrap), ring.view()));
  return wire::encode(wrap);
}

Result<std::string> Keyring::sealed_by_passphrase() const {
  Wrap wrap{.passphrase = true,
            .salt = random_bytes(kSaltBytes),
            .sealed = {},
            .n = kScryptN,
            .r = kScryptR,
            .p = kScryptP};
  CAY_TRY(const Wiped key, scrypt(master_.passphrase, wrap));
  const Wiped ring = plain();
  CAY_TRY(wrap.sealed, encrypt(key.view(), wrap_purpose(wrap), ring.view()));
  return wire::encode(wrap);
}

// Whatever of these steps is the last that happens, the next start opens it.
Result<void> Keyring::keep(bool new_master) {
  const auto write = [&](std::initializer_list<std::string_view> wraps) {
    RingFile file;
    for (const std::string_view one : wraps) file.wraps.push_back(*wire::decode<Wrap>(one));
    return write_durably(directory_, kRingFile, wire::encode(file));
  };
  if (!master_.passphrase.view().empty()) {
    CAY_TRY(const std::string by_passphrase, sealed_by_passphrase());
    CAY_CHECK(write({by_passphrase}));
    if (key_.view().empty()) return {};
    key_.wipe();
    if (::unlinkat(directory_, kKeyFile, 0) != 0 && errno != ENOENT)
      return Error::from_errno(errno, "remove DATA/vault/key");
    return {};
  }
  if (key_.view().empty()) {  // a passphrase was, and none is any more
    Wiped first(random_bytes(kKeyBytes));
    CAY_CHECK(write_durably(directory_, kKeyFile, first.view()));
    key_ = std::move(first);
  }
  if (!new_master) {
    CAY_TRY(const std::string by_file, sealed_by_file(key_.view()));
    return write({by_file});
  }
  Wiped fresh(random_bytes(kKeyBytes));
  CAY_TRY(const std::string by_old, sealed_by_file(key_.view()));
  CAY_TRY(const std::string by_new, sealed_by_file(fresh.view()));
  CAY_CHECK(write({by_old, by_new}));
  CAY_CHECK(write_durably(directory_, kKeyFile, fresh.view()));
  key_ = std::move(fresh);
  return write({by_new});
}

Result<std::string> Keyring::seal(std::string_view about, std::string_view plain) const {
  if (::faccessat(directory_, kSealedFile, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
    CAY_CHECK(write_durably(directory_, kSealedFile, ""));
  }
  const auto& [id, key] = *data_keys_.rbegin();
  std::string out;
  put_id(out, id);
  CAY_TRY(const std::string sealed, encrypt(key.view(), about, plain));
  return out + sealed;
}

Result<Wiped> Keyring::unseal(std::string_view about, std::string_view sealed) const {
  if (sealed.size() < kKeyIdBytes)
    return Error{Code::kInvalidArgument, "bad_envelope", "the sealed bytes are too few", 0};
  const auto key = data_keys_.find(id_of(sealed));
  if (key == data_keys_.end())
    return Error{Code::kInvalidArgument, "bad_envelope",
                 "the key that sealed it is not in this vault", 0};
  return decrypt(key->second.view(), about, sealed.substr(kKeyIdBytes));
}

Result<Wiped> Keyring::open_box(std::string_view about, std::string_view box) const {
  return cay::open_box(box_key_.view(), about, box);
}

Result<void> Keyring::begin_rotation() {
  const std::uint64_t id = data_keys_.rbegin()->first + 1;
  CAY_TRY(BoxKeys box, new_box_keys());
  data_keys_[id] = Wiped(random_bytes(kKeyBytes));
  box_key_ = std::move(box.private_key);
  public_key_ = std::move(box.public_key);
  return keep(true);
}

Result<void> Keyring::end_rotation() {
  while (data_keys_.size() > 1) data_keys_.erase(data_keys_.begin());
  return keep(false);
}

}  // namespace cay::vault
