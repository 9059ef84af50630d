// Files as LangSmith's clients move and search them (protocol reference, section 5.1).
#pragma once
#include "api/langsmith/config.h"

namespace cay::api::langsmith {

Task<http::Response> upload(core::Cay& cay, ExchangePtr exchange);
Task<void> download(core::Cay& cay, ExchangePtr exchange);
Task<void> head_download(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> glob_files(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> grep_files(core::Cay& cay, ExchangePtr exchange);

}  // namespace cay::api::langsmith
