#include "client/socket_end.h"

#include "base/assert.h"
#include "model/command_limits.h"

namespace cay::client {
namespace {

Error lost(std::string words) {
  return {Code::kUnavailable, "connection_lost", std::move(words), 0};
}

Error rejected(const char* what) {
  return {Code::kInternal, "bad_frame",
          std::string("the server rejected what this client sent (") + what +
              "): use one version of Cay on both sides, and look at proxies in between",
          0};
}

Error too_long() {
  return {
      Code::kInvalidArgument, "body_too_large",
      "a message was too long for the daemon (" + std::to_string(kMaxCommandRequest) +
          " bytes) or for a proxy in between: upload what is longer as a file, and name the file",
      0};
}

// The codes of RFC 6455, section 7.4.1, and of the registry that it names.
Error meaning_of(int close_code) {
  switch (close_code) {
    case 1000: return lost("the daemon closed the connection: connect again");
    case 1001: return lost("the daemon is ending or restarting: connect again when it is back");
    case 1002: return rejected("a protocol error");
    case 1003: return rejected("data of a kind that it does not take");
    case 1005:
      return lost(
          "the connection was closed without a reason, maybe by a proxy in between: connect again");
    case 1006:
      return lost(
          "the connection to the daemon broke: look whether the daemon runs, and whether a proxy "
          "in between limits time or size");
    case 1007: return rejected("text that is no UTF-8");
    case 1008:
      return {Code::kPermissionDenied, "connection_ended",
              "the right to this connection has ended: look at the API key", 0};
    case http::WebSocket::kTooLongCode: return too_long();
    case 1010: return rejected("a missing extension");
    case 1011:
      return lost("the daemon or a proxy in between failed, its log has the cause: connect again");
    case 1012: return lost("the server is restarting: connect again in a moment");
    case 1013: return lost("the server has too many connections: connect again later");
    case 1014:
      return lost("a proxy in between could not reach the daemon: look whether the daemon runs");
    case 1015: return lost("TLS failed: look at CAY_CA_FILE and at the server's certificate");
    default:
      return lost(
          "the server or a proxy in between closed the connection for a reason of its own: "
          "connect again");
  }
}

}  // namespace

Error error_of_end(const http::WsMessage& closed) {
  CAY_ASSERT(closed.kind == http::WsMessage::Kind::kClosed);
  Error error = meaning_of(closed.close_code);
  error.message += " (WebSocket close " + std::to_string(closed.close_code);
  if (!closed.data.empty()) error.message += ": " + closed.data;
  error.message += ")";
  return error;
}

}  // namespace cay::client
