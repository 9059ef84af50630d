#include "http/proxy_dial.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "http/transport.h"

namespace cay::http {
namespace {

constexpr std::size_t kMostProxyAnswer = 16 * 1024;

Error proxy_failed(const ClientProxy& proxy, const std::string& why) {
  return {Code::kUnavailable, "connect_failed",
          "the proxy " + proxy.host + ":" + std::to_string(proxy.port) + " " + why, 0};
}

std::string printable_status(const std::string& status) {
  const bool is_number =
      !status.empty() && status.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? status : "none";
}

}  // namespace

Task<void> dial_proxy(ClientProxy proxy, asio::ip::tcp::socket& socket) {
  ErrorCode error;
  asio::ip::tcp::resolver resolver(socket.get_executor());
  const auto places =
      co_await resolver.async_resolve(proxy.host, std::to_string(proxy.port), to(error));
  if (error) co_return proxy_failed(proxy, "has no address: " + error.message());
  co_await asio::async_connect(socket, places, to(error));
  if (error) co_return proxy_failed(proxy, "does not answer: " + error.message());
  co_return Result<void>();
}

Task<void> connect_through(ClientProxy proxy, asio::ip::tcp::socket& socket, std::string host,
                           std::string port) {
  ErrorCode error;
  const bool is_v6 = host.find(':') != std::string::npos;
  const std::string target = (is_v6 ? "[" + host + "]" : host) + ":" + port;
  std::string head = "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n";
  if (!proxy.authorization.empty()) head += "Proxy-Authorization: " + proxy.authorization + "\r\n";
  head += "\r\n";
  co_await asio::async_write(socket, asio::buffer(head), to(error));
  if (error) co_return proxy_failed(proxy, "closed the connection: " + error.message());
  // This side speaks first in HTTP and TLS, so nothing follows the head of the answer.
  std::string answer;
  co_await asio::async_read_until(socket, asio::dynamic_buffer(answer, kMostProxyAnswer),
                                  "\r\n\r\n", to(error));
  if (error) co_return proxy_failed(proxy, "sent no answer: " + error.message());
  const auto space = answer.find(' ');
  const std::string status = space == std::string::npos ? "" : answer.substr(space + 1, 3);
  if (!answer.starts_with("HTTP/1.") || status.size() != 3 || status.front() != '2') {
    co_return proxy_failed(
        proxy, "refused a connection to " + target + " (status " + printable_status(status) + ")");
  }
  if (!answer.ends_with("\r\n\r\n"))
    co_return proxy_failed(proxy, "sent more than an answer to the request for a connection");
  co_return Result<void>();
}

Task<void> connect_to_one_of(ClientProxy proxy, asio::ip::tcp::socket& socket,
                             std::vector<asio::ip::tcp::endpoint> places, std::string name) {
  Result<void> got;
  for (const auto& place : places) {
    socket = asio::ip::tcp::socket(socket.get_executor());
    CAY_CO_CHECK(co_await dial_proxy(proxy, socket));
    got = co_await connect_through(proxy, socket, place.address().to_string(),
                                   std::to_string(place.port()));
    if (got) co_return got;
  }
  Error refused = std::move(got).error();
  refused.message += ", which is an address of " + name;
  co_return refused;
}

}  // namespace cay::http
