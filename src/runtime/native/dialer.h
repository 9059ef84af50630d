// Dialers: how a PersistentLink gets its socket, each time anew.
#pragma once
#include <functional>
#include <string>

#include "runtime/native/link.h"

namespace cay::runtime {

// kNotFound: nobody listens there (the peer is gone). Anything else: try again.
using Dialer = std::function<Task<StreamSocket>()>;

// A socket by path; any length (it is reached through a descriptor of its directory).
Dialer unix_dialer(std::string path);

// host: a numeric address. With TCP keepalive.
Dialer tcp_dialer(std::string host, std::uint16_t port);

}  // namespace cay::runtime
