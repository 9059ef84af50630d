#include "http/server_tls.h"

#include <openssl/ssl.h>
#include <sys/stat.h>

namespace cay::http {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLook = std::chrono::seconds(1);

Error bad_certificate(const CertificateFiles& files, const std::string& why) {
  return {Code::kInvalidArgument, "bad_certificate",
          "the certificate in " + files.chain + " with the key in " + files.key +
              " cannot be used: " + why +
              " (both are PEM files that the daemon's user can read; the key has no passphrase)",
          0};
}

std::string state_of_file(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return "-";
  // ctime as well: a file that could not be read may become readable, with not a byte changed.
  return std::to_string(info.st_ino) + "/" + std::to_string(info.st_size) + "/" +
         std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec) + "/" +
         std::to_string(info.st_ctim.tv_sec) + "." + std::to_string(info.st_ctim.tv_nsec);
}

}  // namespace

Result<std::shared_ptr<ServerTls>> ServerTls::create(CertificateFiles files, Log log) {
  std::shared_ptr<ServerTls> made(new ServerTls(std::move(files), std::move(log)));
  CAY_CHECK(made->read());
  return made;
}

std::string ServerTls::state() const {
  return state_of_file(files_.chain) + " " + state_of_file(files_.key);
}

Result<void> ServerTls::read() {
  read_state_ = state();  // first: a change while they are read is a change after
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX* native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  // Compression and renegotiation are how TLS 1.2 was attacked.
  SSL_CTX_set_options(
      native, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Plain bytes are overwritten once they are read: a request may contain a secret.
  SSL_CTX_set_options(native, SSL_OP_CLEANSE_PLAINTEXT);
  // No session can be resumed. A ticket saves little, and it arrives while a client that reads in
  // one thread writes its first request in another, which Python's ssl does not tolerate
  // (docs/decisions/0034-no-session-tickets.md).
  SSL_CTX_set_options(native, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(native, 0);
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  // A key with a passphrase is refused, since no terminal is there to enter it.
  SSL_CTX_set_default_passwd_cb(native, [](char*, int, int, void*) { return 0; });
  ErrorCode error;
  context->use_certificate_chain_file(files_.chain, error);
  if (!error) context->use_private_key_file(files_.key, asio::ssl::context::pem, error);
  if (error) return bad_certificate(files_, error.message());
  if (SSL_CTX_check_private_key(native) != 1)
    return bad_certificate(files_, "the key belongs to another certificate");
  context_ = std::move(context);
  return {};
}

std::shared_ptr<asio::ssl::context> ServerTls::context() {
  const auto now = Clock::now();
  if (now >= look_again_) {
    look_again_ = now + kLook;
    if (state() != read_state_) {
      const auto done = read();
      if (log_)
        log_(done ? "the certificate was read again: " + files_.chain
                  : done.error().message + "; the last good one stays");
    }
  }
  return context_;
}

Task<void> ServerTls::handshake(Channel& channel) {
  ErrorCode error;
  co_await channel.secured()->async_handshake(asio::ssl::stream_base::server, to(error));
  if (error)
    co_return Error{Code::kUnavailable, "tls_failed", "no TLS with the client: " + error.message(),
                    0};
  co_return Result<void>();
}

Task<void> ServerTls::close(Channel& channel) {
  ErrorCode error;
  co_await channel.secured()->async_shutdown(to(error));
  co_return Result<void>();  // a peer that just left has closed it, too
}

}  // namespace cay::http
