// A Dialer opens each new connection of a PersistentLink. It is the seam between the client of a
// keeper and where that keeper runs: on this host, in a virtual machine, elsewhere.
#pragma once
#include <boost/system/error_code.hpp>
#include <functional>
#include <string>

#include "runtime/keeper/link.h"

namespace cay::runtime {

// Returns a connected stream socket of any family. Fails kNotFound if the peer is gone for good:
// nothing listens there. After any other error the link tries again.
using Dialer = std::function<Task<StreamSocket>()>;

// host: a numeric address. With TCP keepalive.
Dialer tcp_dialer(std::string host, std::uint16_t port);

// The error of a connection to `name` that failed.
Error connect_error(const std::string& name, const boost::system::error_code& failed);

}  // namespace cay::runtime
