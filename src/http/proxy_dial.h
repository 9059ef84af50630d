// Connections through an HTTP proxy, by CONNECT (RFC 9110, section 9.3.6).
#pragma once
#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <vector>

#include "async/task.h"
#include "http/client.h"

namespace cay::http {

// Each fails kUnavailable (connect_failed), with the proxy's name in the message.

// Connects `socket` to the proxy itself.
Task<void> dial_proxy(ClientProxy proxy, asio::ip::tcp::socket& socket);

// Has the proxy connect `socket`, which is connected to it, to a host.
Task<void> connect_through(ClientProxy proxy, asio::ip::tcp::socket& socket, std::string host,
                           std::string port);

// Connects `socket` by the proxy to the first of these addresses of `name` that it reaches. A proxy
// may know only one of IPv4 and IPv6. There is at least one address.
Task<void> connect_to_one_of(ClientProxy proxy, asio::ip::tcp::socket& socket,
                             std::vector<asio::ip::tcp::endpoint> places, std::string name);

}  // namespace cay::http
