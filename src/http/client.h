// Client: HTTP/1.1 and WebSocket to one server, with a pool of kept-alive connections. Used by the
// SDK, the CLI, forwarding and tests.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/bytes.h"
#include "base/clock.h"
#include "base/ip_address.h"
#include "http/exchange.h"
#include "http/message.h"

namespace cay::http {

class RawStream;

// An HTTP proxy that connections go through, by CONNECT (RFC 9110, section 9.3.6).
struct ClientProxy {
  std::string host;  // empty: there is none
  std::uint16_t port = 0;
  std::string authorization;  // the header's value; empty: none
  // Requests to http:// go to the proxy in absolute form (RFC 9112, section 3.2.2) in place of a
  // CONNECT, which many proxies allow for TLS alone.
  bool forwards = false;
  // Whether connections to this host are dialled without the proxy. `addresses` is what its name
  // means here, if it means anything.
  std::function<bool(const std::string& host, const std::vector<IpAddress>& addresses)> is_direct;
  // Why the proxy cannot be used: what is not direct fails kInvalidArgument (bad_proxy) with this
  // text. Empty: it can.
  std::string unusable;
};

struct ClientOptions {
  // "http://127.0.0.1:8787", "https://host/prefix", "http://[::1]:80" or
  // "unix:///run/cay/http.sock". A path is put before the target of every request.
  std::string url;
  std::string ca_file;  // https: trust the authorities in this PEM file alone; empty: the system's
  std::string more_ca_file;  // https: trust these as well
  // Whether an address may be dialled, once a name is resolved. Empty: all may.
  std::function<bool(const IpAddress&)> may_dial;
  // A host is reached by an address that was looked up and checked here, and by no other. One
  // address that may_dial refuses closes the whole name. A proxy gets the address in place of the
  // name, by CONNECT also for http://. A name without an address here cannot be reached.
  bool checks_all = false;
  // For hosts whose name has no address here, or only addresses that may be dialled.
  ClientProxy proxy;
  Headers headers;                // sent with every request; one of the request's own replaces it
  Millis connect_timeout{5'000};  // name resolution and connect
  Millis response_timeout{0};     // from the request sent to the answer's head; 0: no limit
  Millis idle_timeout{30'000};    // how long an unused connection is kept
  std::size_t max_idle = 8;       // unused connections kept
  std::size_t max_head = 64 * 1024;  // bytes of an answer's head
  Millis ping_interval{30'000};      // of a WebSocket on which nothing moves
};

struct ClientRequest {
  std::string method = "GET";
  std::string target = "/";  // path and query, already percent-encoded (see encode_segment)
  Headers headers;           // Host, Content-Length, Transfer-Encoding and Connection are ours
  std::string body;
  // Instead of `body`: pulled as the connection takes it. Without a length it is sent chunked.
  std::unique_ptr<ByteSource> stream;
  std::optional<std::uint64_t> stream_length;
};

// An answer whose body is still coming. Reading it to the end gives the connection back to the
// pool; dropping it earlier closes the connection. The body outlives the Client.
struct ClientResponse {
  int status = 0;
  Headers headers;
  std::optional<std::uint64_t> length;  // Content-Length, if it came
  // A connection that breaks before the end is an Error (kUnavailable, "connection_lost"), never a
  // short body.
  std::unique_ptr<ByteSource> body;
};

struct ClientUpgrade {
  std::unique_ptr<WebSocket> socket;  // null: refused, see `refusal`
  Response refusal;                   // its body is cut at 64 KiB
};

struct ClientTunnel {
  std::unique_ptr<RawStream> stream;  // null: refused
  Response refusal;
};

// Runs on one loop. Requests may overlap: each has a connection of its own meanwhile.
// Every method honours cancellation; the connection of a cancelled request is closed.
class Client {
 public:
  // kInvalidArgument "bad_url": not a URL, or a scheme that is not spoken; "bad_ca_file".
  static Result<std::unique_ptr<Client>> create(asio::any_io_executor executor,
                                                ClientOptions options);
  virtual ~Client() = default;

  // Sends the request, and returns when the head of the answer has come. Any status is a value.
  //
  // Fails kUnavailable: connect_failed (nobody listens, or the name is unknown), tls_failed, or
  // tls_untrusted (wrong authority, name or date of the certificate). Fails kPermissionDenied:
  // special_network, when may_dial allows no address of the host, or with checks_all not each.
  // Fails kInvalidArgument: bad_proxy. Fails kUnavailable: connection_lost, when the request may or
  // may not have been carried out. Fails kDeadlineExceeded: connect_timeout, response_timeout.
  //
  // An idempotent request that a kept-alive connection lost before any answer is sent once more.
  virtual Task<ClientResponse> send(ClientRequest request) = 0;

  // send() and the whole body; kInvalidArgument "body_too_large" above `limit`.
  virtual Task<Response> request(ClientRequest request, std::size_t limit = 16u << 20) = 0;

  // Opens a WebSocket. A server that answers otherwise is a value (`refusal`), no Error.
  virtual Task<ClientUpgrade> websocket(std::string target, Headers headers,
                                        std::size_t max_message = 16u << 20) = 0;

  // Requests a stream of bytes without framing. `protocol` is the name for Upgrade, and `headers`
  // receives the address of this side of the connection. Only for http://: TLS cannot end one
  // direction alone (kInvalidArgument, "bad_url").
  virtual Task<ClientTunnel> tunnel(std::string target, std::string protocol,
                                    std::function<Headers(const std::string& from)> headers) = 0;

  // Closes unused connections.
  virtual void close_idle() = 0;
};

// Percent-encodes all but unreserved characters: a value becomes one path segment or query part.
std::string encode_segment(std::string_view text);

}  // namespace cay::http
