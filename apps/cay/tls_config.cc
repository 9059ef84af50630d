#include "tls_config.h"

#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "server/guards.h"
#include "server/public_url.h"

namespace cay::app {
namespace {

// Returns the names and addresses by which clients on other machines may reach this one.
std::vector<std::string> addresses_of_this_host() {
  std::vector<std::string> out;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return out;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    std::array<char, NI_MAXHOST> text{};
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (::getnameinfo(one->ifa_addr, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) !=
        0)
      continue;
    std::string address = text.data();
    if (address.find('%') == std::string::npos)
      out.push_back(std::move(address));  // a link-local one is no name
  }
  ::freeifaddrs(all);
  return out;
}

}  // namespace

bool wants_tls(const Config& config) {
  return config.tls || !config.tls_cert.empty() || !config.tls_key.empty();
}

Result<std::shared_ptr<http::ServerTls>> server_tls(const Config& config, const std::string& data) {
  if (!wants_tls(config)) return std::shared_ptr<http::ServerTls>();
  const auto log = [](const std::string& text) { spdlog::warn("{}", text); };
  if (config.tls_cert.empty() != config.tls_key.empty()) {
    return Error{Code::kInvalidArgument, "bad_certificate",
                 "--tls-cert and --tls-key go together: the certificate's chain, and its key", 0};
  }
  if (!config.tls_cert.empty())
    return http::ServerTls::create({config.tls_cert, config.tls_key}, log);

  const std::string directory = data + "/tls";
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{Code::kInternal, "own_certificate", directory + ": " + std::strerror(errno),
                 errno};
  }
  const http::CertificateFiles files{directory + "/cert.pem", directory + "/key.pem"};
  std::vector<std::string> names{"localhost", "127.0.0.1", "::1"};
  std::array<char, HOST_NAME_MAX + 1> host{};
  if (::gethostname(host.data(), HOST_NAME_MAX) == 0 && host[0] != 0)
    names.emplace_back(host.data());
  CAY_TRY(const auto public_url,
          server::PublicUrl::create(config.public_url, config.trusted_proxies));
  if (!public_url.host().empty()) names.push_back(public_url.host());
  if (!config.service_domain.empty()) names.push_back("*." + config.service_domain);
  const std::string address = server::host_without_port(config.listen);
  // "0.0.0.0", too: a certificate with it was made when all of this host's addresses were wanted in
  // it, an older one was not.
  if (!server::is_loopback_host(address)) names.push_back(address);
  std::vector<std::string> also;
  if (address == "0.0.0.0" || address == "::") also = addresses_of_this_host();
  // Most clients take a wildcard only where two labels follow it: what is gained is not worth
  // another certificate.
  if (config.service_domain.empty()) also.emplace_back("*.localhost");
  CAY_TRY(const bool made, http::ensure_own_certificate(files, names, also));
  if (made)
    spdlog::warn(
        "a certificate of our own was made: {}: clients trust it by this file (CAY_CA_FILE)",
        files.chain);
  return http::ServerTls::create(files, log);
}

}  // namespace cay::app
