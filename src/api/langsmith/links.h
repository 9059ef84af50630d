// Service URLs and download links (protocol reference, sections 2.4 #10 and #11, 5.3, 5.4).
#pragma once
#include "api/langsmith/config.h"

namespace cay::api::langsmith {

Task<http::Response> service_url(core::Cay& cay, ServiceNames names, ExchangePtr exchange);
Task<http::Response> file_url(core::Cay& cay, ServiceNames names, ExchangePtr exchange);

}  // namespace cay::api::langsmith
