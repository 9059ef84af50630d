// Whether the daemon serves https, and with which certificate.
#pragma once
#include <memory>
#include <string>

#include "base/result.h"
#include "config.h"
#include "http/server_tls.h"

namespace cay::app {

bool wants_tls(const Config& config);

// The operator's certificate, or one of our own in DATA/tls. Null: plain HTTP. kInvalidArgument
// (bad_certificate).
Result<std::shared_ptr<http::ServerTls>> server_tls(const Config& config, const std::string& data);

}  // namespace cay::app
