// Boxes: the control plane (protocol reference, section 2.4).
#pragma once
#include "api/langsmith/config.h"

namespace cay::api::langsmith {

Task<http::Response> create_box(core::Cay& cay, Limits maximum, ExchangePtr exchange);
Task<http::Response> list_boxes(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> get_box(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> patch_box(core::Cay& cay, Limits maximum, ExchangePtr exchange);
Task<http::Response> delete_box(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> box_status(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> start_box(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> stop_box(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> delete_boxes(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> usage(core::Cay& cay, ExchangePtr exchange);

}  // namespace cay::api::langsmith
