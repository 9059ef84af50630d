#include "http/request_connection.h"

namespace cay::http {

void RequestConnection::break_off() {
  broken_off_ = true;
  keep_alive_ = false;
}

void RequestConnection::reset() {
  if (channel_ == nullptr) return;
  ErrorCode ignored;
  transport().socket().set_option(asio::socket_base::linger(true, 0), ignored);
  transport().close();
}

}  // namespace cay::http
