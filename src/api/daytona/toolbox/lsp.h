// The handlers of /lsp.
#pragma once
#include <memory>

#include "api/common/answer.h"
#include "api/daytona/toolbox/lsp_server.h"

namespace cay::api::daytona {

using LspPtr = std::shared_ptr<LspServers>;

Task<http::Response> lsp_start(core::Cay& cay, LspPtr servers, ExchangePtr exchange);
Task<http::Response> lsp_stop(core::Cay& cay, LspPtr servers, ExchangePtr exchange);
Task<http::Response> lsp_did_open(core::Cay& cay, LspPtr servers, ExchangePtr exchange);
Task<http::Response> lsp_did_close(core::Cay& cay, LspPtr servers, ExchangePtr exchange);
Task<http::Response> lsp_document_symbols(core::Cay& cay, LspPtr servers, ExchangePtr exchange);
Task<http::Response> lsp_workspace_symbols(core::Cay& cay, LspPtr servers, ExchangePtr exchange);
Task<http::Response> lsp_completions(core::Cay& cay, LspPtr servers, ExchangePtr exchange);

}  // namespace cay::api::daytona
