// Preview URLs: links to a port of a sandbox. With a token in a header, or signed: with the token
// in the URL.
#pragma once
#include "api/daytona/control.h"

namespace cay::api::daytona {

Task<http::Response> preview_url(std::shared_ptr<Control> control, ExchangePtr exchange);
Task<http::Response> signed_preview_url(std::shared_ptr<Control> control, ExchangePtr exchange);
Task<http::Response> expire_signed_preview_url(std::shared_ptr<Control> control,
                                               ExchangePtr exchange);

}  // namespace cay::api::daytona
