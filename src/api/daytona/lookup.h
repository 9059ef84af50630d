// The sandbox that a request is about, by its id or its name.
#pragma once
#include <string>

#include "api/common/answer.h"
#include "model/sandbox.h"

namespace cay::api::daytona {

// The path's {id}, which is an id or a name.
std::string ref_of(const ExchangePtr& exchange);

// Fails kNotFound with the vendor's sentence.
Task<Sandbox> sandbox_of(core::Cay& cay, ExchangePtr exchange);

// "http://host:port/daytona", as this client sees it.
std::string base_url(const http::RequestHead& head);

}  // namespace cay::api::daytona
