#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "cay/types.h"

namespace cay::sdk {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string data_directory() {
  if (auto set = environment("CAY_DATA"); !set.empty()) return set;
  if (::geteuid() == 0) return "/var/lib/cay";
  if (auto set = environment("XDG_DATA_HOME"); !set.empty()) return set + "/cay";
  return environment("HOME") + "/.local/share/cay";
}

bool is_here(const std::string& url) {
  return url.starts_with("https://127.0.0.1") || url.starts_with("https://localhost") ||
         url.starts_with("https://[::1]");
}

}  // namespace

ClientOptions ClientOptions::from_environment() {
  ClientOptions out;
  if (auto url = environment("CAY_URL"); !url.empty()) out.url = url;
  out.ca_file = environment("CAY_CA_FILE");
  out.traceparent = environment("TRACEPARENT");
  // A daemon of this machine with a certificate of its own: whoever may read its directory trusts
  // it by that.
  const std::string own = data_directory() + "/tls/cert.pem";
  if (out.ca_file.empty() && is_here(out.url) && ::access(own.c_str(), R_OK) == 0)
    out.ca_file = own;
  out.api_key = environment("CAY_API_KEY");
  if (!out.api_key.empty()) return out;
  const std::string path = data_directory() + "/api-key";
  if (std::ifstream file(path); file && std::getline(file, out.api_key) && !out.api_key.empty())
    return out;
  out.key_problem =
      "no API key: CAY_API_KEY is not set and " + path +
      " cannot be read. Whoever runs the daemon makes one for you with `cay key create`; then set "
      "CAY_API_KEY to it";
  return out;
}

}  // namespace cay::sdk
