#include "http/tls.h"

#include <boost/asio/ip/address.hpp>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

namespace cay::http {
namespace {

// OpenSSL itself checks the name, so that its verdict differs for a wrong name and a wrong
// authority.
bool expect_host(SSL* ssl, const std::string& host) {
  ErrorCode not_an_address;
  asio::ip::make_address(host, not_an_address);
  if (!not_an_address) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1;
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set1_host(ssl, host.c_str()) == 1 && SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
}

Error bad_ca_file(const std::string& path, const std::string& why) {
  return {Code::kInvalidArgument, "bad_ca_file",
          "the certificates in " + path + " cannot be used: " + why, 0};
}

}  // namespace

Result<std::unique_ptr<Tls>> Tls::create(const std::string& ca_file,
                                         const std::string& more_ca_file) {
  std::unique_ptr<Tls> tls(new Tls());
  asio::ssl::context& context = tls->context_;
  ErrorCode error;
  context.set_options(asio::ssl::context::default_workarounds, error);
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.native_handle(),
                      SSL_OP_CLEANSE_PLAINTEXT);  // a response may have a secret
  context.set_verify_mode(asio::ssl::verify_peer, error);
  if (!ca_file.empty()) {
    context.load_verify_file(ca_file, error);
    if (error) return bad_ca_file(ca_file, error.message());
  } else {
    context.set_default_verify_paths(error);
    if (error)
      return bad_ca_file("the system's store",
                         error.message() + " (is ca-certificates installed?)");
  }
  if (!more_ca_file.empty()) {
    context.load_verify_file(more_ca_file, error);
    if (error) return bad_ca_file(more_ca_file, error.message());
  }
  return tls;
}

Task<void> Tls::handshake(Channel& channel, std::string host) {
  auto& stream = *channel.secured();
  SSL* ssl = stream.native_handle();
  if (!expect_host(ssl, host))
    co_return Error{Code::kInvalidArgument, "bad_url", "'" + host + "' is no host name for TLS", 0};
  ErrorCode error;
  co_await stream.async_handshake(asio::ssl::stream_base::client, to(error));
  if (!error) co_return Result<void>();
  const long verdict = SSL_get_verify_result(ssl);
  if (verdict != X509_V_OK) {
    co_return Error{Code::kUnavailable, "tls_untrusted",
                    "the certificate of " + host +
                        " is not trusted: " + X509_verify_cert_error_string(verdict) +
                        ". For an authority of your own, name its file: CAY_CA_FILE for the "
                        "daemon's, vault.ca_file for servers of proxy rules, "
                        "langsmith.upstream_ca_file for LangSmith's",
                    0};
  }
  co_return Error{Code::kUnavailable, "tls_failed",
                  "no TLS with " + host + ": " + error.message() + " (does that port speak TLS?)",
                  0};
}

}  // namespace cay::http
