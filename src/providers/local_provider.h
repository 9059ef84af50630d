// The provider "local": commands run on this host, as this user. NOTHING IS ISOLATED. A command can
// read and change whatever its user can, and reach any network.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "providers/backend.h"

namespace cay::providers {

// A sandbox's id is its directory. An `id` of the request is a directory that is there. A `claim`
// has the same directory each time, below `state_directory`. Else it is a new temporary one.
//
// Commands get no variable of this process but PATH, HOME and the like, so no key of a model.
std::unique_ptr<Provider> make_local_provider(asio::any_io_executor executor,
                                              std::string state_directory = {});

}  // namespace cay::providers
