// ServerTls: the certificate that a listener shows, read again when its files change.
#pragma once
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/task.h"
#include "http/channel.h"

namespace cay::http {

struct CertificateFiles {
  std::string chain;  // PEM: the server's certificate first, then those between it and the authority
  std::string key;    // PEM, not encrypted
};

class ServerTls {
 public:
  using Log = std::function<void(const std::string&)>;

  // TLS 1.2 and newer. kInvalidArgument (bad_certificate): missing, not to be read, or no pair.
  static Result<std::shared_ptr<ServerTls>> create(CertificateFiles files, Log log);

  // For a new connection. Files that changed are read first (looked at once a second at most); if they cannot be
  // used, that is logged and the last good ones stay. Connections keep what they began with.
  std::shared_ptr<asio::ssl::context> context();

  // The server's side. kUnavailable (tls_failed).
  static Task<void> handshake(Channel& channel);
  // Tells the peer that nothing more comes, and waits for it to say the same.
  static Task<void> close(Channel& channel);

 private:
  ServerTls(CertificateFiles files, Log log) : files_(std::move(files)), log_(std::move(log)) {}
  Result<void> read();
  std::string state() const;  // of the files: another one when they were changed

  CertificateFiles files_;
  Log log_;
  std::shared_ptr<asio::ssl::context> context_;
  std::string read_state_;
  std::chrono::steady_clock::time_point look_again_{};
};

// A certificate of our own that signs itself, for `names` (DNS names, wildcards too, and addresses), and its
// key: for hosts without an authority. Clients trust it by its file. Made if the files are not there, or lack one
// of the names, or end within 30 days; one that is made holds `also`, too (addresses that may change, and need no
// new one then). The directory is the caller's; the key has mode 0600. True: made. kInternal (own_certificate).
Result<bool> ensure_own_certificate(const CertificateFiles& files, const std::vector<std::string>& names,
                                    const std::vector<std::string>& also);

}  // namespace cay::http
