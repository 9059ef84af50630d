// Tls authenticates a server to a client. It checks the certificate's chain, its host name and its
// dates.
#pragma once
#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "async/task.h"
#include "http/channel.h"

namespace cay::http {

class Tls {
 public:
  // Trusts the authorities in `ca_file` (PEM), and no others; empty: those of the system. It
  // trusts those in `more_ca_file` as well, if it is given. TLS 1.2 and newer. Fails
  // kInvalidArgument bad_ca_file.
  static Result<std::unique_ptr<Tls>> create(const std::string& ca_file,
                                             const std::string& more_ca_file = "");

  asio::ssl::context& context() { return context_; }

  // The handshake with `host` (a name or an address). kUnavailable: tls_untrusted with what is
  // wrong with the certificate; tls_failed for all else.
  Task<void> handshake(Channel& channel, std::string host);

 private:
  Tls() : context_(asio::ssl::context::tls_client) {}
  asio::ssl::context context_;
};

}  // namespace cay::http
