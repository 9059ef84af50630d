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
  std::string
      chain;        // PEM: the server's certificate first, then those between it and the authority
  std::string key;  // PEM, not encrypted
};

class ServerTls {
 public:
  using Log = std::function<void(const std::string&)>;

  // TLS 1.2 and newer. kInvalidArgument (bad_certificate): missing, not to be read, or no pair.
  static Result<std::shared_ptr<ServerTls>> create(CertificateFiles files, Log log);

  // Returns the context for a new connection. Changed files are read first (checked at most once a
  // second). If they cannot be used, that is logged and the last good ones stay. Connections keep
  // the context that they began with.
  std::shared_ptr<asio::ssl::context> context();

  // The server's side. kUnavailable (tls_failed).
  static Task<void> handshake(Channel& channel);
  // Sends the peer the end of the stream and waits for the peer's own.
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

// Makes a certificate that signs itself, and its key, for hosts without an authority. It is for
// `names` (DNS names, wildcards too, and addresses), and clients trust it by its file.
//
// It is made if the files are missing, lack one of the names, or end within 30 days. A new one also
// has the names in `also`: addresses that may change without a need for a new one. The caller makes
// the directory. The key has mode 0600. Returns true if it was made. Fails kInternal
// (own_certificate).
Result<bool> ensure_own_certificate(const CertificateFiles& files,
                                    const std::vector<std::string>& names,
                                    const std::vector<std::string>& also);

}  // namespace cay::http
