// The handlers of /files: one file or directory at a time. bulk.h has those for many.
#pragma once
#include "api/common/answer.h"

namespace cay::api::daytona {

Task<http::Response> list_files(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> file_info(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> search_files(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> find_in_files(core::Cay& cay, ExchangePtr exchange);
Task<void> download_file(core::Cay& cay, ExchangePtr exchange);

Task<http::Response> delete_file(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> create_folder(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> move_file(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> set_permissions(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> replace_in_files(core::Cay& cay, ExchangePtr exchange);
// `path` is in the query, the content in the part "file".
Task<http::Response> upload_file(core::Cay& cay, ExchangePtr exchange);

Task<http::Response> bulk_upload(core::Cay& cay, ExchangePtr exchange);
Task<void> bulk_download(core::Cay& cay, ExchangePtr exchange);

}  // namespace cay::api::daytona
