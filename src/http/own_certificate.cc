// The certificate that a host without an authority makes for itself.
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/freed_by.h"
#include "http/server_tls.h"

namespace cay::http {
namespace {

constexpr long kValid =
    3650L * 86'400;  // clients trust the file: a shorter life would only break them sooner
constexpr long kSoon = 30L * 86'400;

using Key = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, FreedBy<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, FreedBy<X509_EXTENSION_free>>;
using File = std::unique_ptr<std::FILE, FreedBy<std::fclose>>;

bool is_address(const std::string& name) {
  return name.find_first_not_of("0123456789.") == std::string::npos ||
         name.find(':') != std::string::npos;
}

Error failed(const std::string& what, int number) {
  return {Code::kInternal, "own_certificate",
          "a certificate of our own could not be made: " + what +
              (number == 0 ? "" : std::string(": ") + std::strerror(number)),
          number};
}

// Whether what is there still serves.
bool serves(const CertificateFiles& files, const std::vector<std::string>& names) {
  if (::access(files.key.c_str(), R_OK) != 0) return false;
  const File in(std::fopen(files.chain.c_str(), "re"));
  if (!in) return false;
  const Certificate found(PEM_read_X509(in.get(), nullptr, nullptr, nullptr));
  if (!found) return false;
  std::time_t then = std::time(nullptr) + kSoon;
  if (X509_cmp_time(X509_get0_notAfter(found.get()), &then) <= 0) return false;
  for (const auto& name : names) {
    // A wildcard is looked for by a name that it stands for.
    const std::string asked = name.starts_with("*.") ? "x" + name.substr(1) : name;
    const int covered = is_address(name)
                            ? X509_check_ip_asc(found.get(), asked.c_str(), 0)
                            : X509_check_host(found.get(), asked.data(), asked.size(), 0, nullptr);
    if (covered != 1) return false;
  }
  return true;
}

bool extend(X509& made, int what, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, &made, &made, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str()));
  return extension && X509_add_ext(&made, extension.get(), -1) == 1;
}

Certificate sign(EVP_PKEY& key, const std::vector<std::string>& names) {
  std::string alternatives;
  for (const auto& name : names)
    alternatives +=
        (alternatives.empty() ? "" : ",") + std::string(is_address(name) ? "IP:" : "DNS:") + name;
  Certificate made(X509_new());
  std::uint64_t serial = 0;
  const bool begun =
      made && X509_set_version(made.get(), X509_VERSION_3) == 1 &&
      RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1 &&
      ASN1_INTEGER_set_uint64(X509_get_serialNumber(made.get()), serial >> 1) == 1 &&
      X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600) != nullptr &&  // clocks differ
      X509_gmtime_adj(X509_getm_notAfter(made.get()), kValid) != nullptr &&
      X509_set_pubkey(made.get(), &key) == 1;
  if (!begun) return nullptr;
  X509_NAME* subject = X509_get_subject_name(made.get());
  const auto* title = reinterpret_cast<const unsigned char*>("Cay on this host");
  const bool done =
      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, title, -1, -1, 0) == 1 &&
      X509_set_issuer_name(made.get(), subject) == 1 &&
      extend(*made, NID_basic_constraints,
             "critical,CA:FALSE") &&  // trusted, it speaks for itself alone
      extend(*made, NID_key_usage, "critical,digitalSignature") &&
      extend(*made, NID_ext_key_usage, "serverAuth") &&
      extend(*made, NID_subject_alt_name, alternatives) &&
      X509_sign(made.get(), &key, EVP_sha256()) > 0;
  return done ? std::move(made) : nullptr;
}

// Whole or not at all, and never readable in between.
template <class Writer>
Result<void> write_new(const std::string& path, mode_t mode, Writer&& writer) {
  const std::string fresh = path + ".new";
  (void)::unlink(fresh.c_str());
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return failed(fresh, errno);
  File out(::fdopen(fd, "w"));
  if (!out || writer(out.get()) != 1 || std::fflush(out.get()) != 0 || ::fsync(fd) != 0)
    return failed(fresh, errno);
  out.reset();
  if (::rename(fresh.c_str(), path.c_str()) != 0) return failed(path, errno);
  return {};
}

}  // namespace

Result<bool> ensure_own_certificate(const CertificateFiles& files,
                                    const std::vector<std::string>& names,
                                    const std::vector<std::string>& also) {
  if (serves(files, names)) return false;
  std::vector<std::string> all = names;
  all.insert(all.end(), also.begin(), also.end());
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return failed("no key", 0);
  const Certificate made = sign(*key, all);
  if (!made) return failed("a name that a certificate cannot have?", 0);
  CAY_CHECK(write_new(files.key, 0600, [&key](std::FILE* out) {
    return PEM_write_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  }));
  CAY_CHECK(write_new(files.chain, 0644,
                      [&made](std::FILE* out) { return PEM_write_X509(out, made.get()); }));
  return true;
}

}  // namespace cay::http
