#include "api/daytona/toolbox/lsp.h"

#include <utility>

#include "api/daytona/toolbox/errors.h"
#include "async/bytes.h"
#include "base/ascii.h"
#include "core/ports/runtime.h"
#include "core/verbs/files.h"

namespace cay::api::daytona {
namespace {

constexpr std::string_view kFileScheme = "file://";
constexpr std::size_t kMostDocument = 8 << 20;
constexpr std::uint32_t kMostDocuments = 200;  // that are searched

LspPlace place_of(const Box& box, const std::string& language, const std::string& project) {
  return {.language = language, .project = box.absolute(project)};
}

// The client writes "file://" before whatever path it was given, also a relative one.
std::string path_of_uri(const Box& box, std::string_view uri) {
  if (uri.starts_with(kFileScheme)) uri.remove_prefix(kFileScheme.size());
  return box.absolute(uri);
}
std::string whole_uri(const Box& box, std::string_view uri) {
  return std::string(kFileScheme) + path_of_uri(box, uri);
}

// A body that names a server, and perhaps a document of it.
struct LspBody {
  Box box;
  LspPlace place;
  std::string uri;
  codec::json::object body;
};

Task<LspBody> lsp_body_of(core::Cay& cay, ExchangePtr exchange, bool with_document) {
  LspBody out;
  CAY_CO_TRY(out.body, co_await toolbox_body(exchange));
  codec::Fields fields(out.body);
  std::string language, project;
  if (!fields.read("languageId", language) || language.empty())
    fields.complain("languageId", "is required");
  if (!fields.read("pathToProject", project) || project.empty())
    fields.complain("pathToProject", "is required");
  if (with_document && (!fields.read("uri", out.uri) || out.uri.empty()))
    fields.complain("uri", "is required");
  CAY_CO_CHECK(checked_body(fields));
  CAY_CO_TRY(out.box, co_await box_of(cay, exchange));
  out.place = place_of(out.box, language, project);
  co_return out;
}

Task<LspBody> lsp_query_of(core::Cay& cay, ExchangePtr exchange) {
  LspBody out;
  CAY_CO_TRY(const std::string language, needed_query(exchange, "languageId"));
  CAY_CO_TRY(const std::string project, needed_query(exchange, "pathToProject"));
  CAY_CO_TRY(out.box, co_await box_of(cay, exchange));
  out.place = place_of(out.box, language, project);
  co_return out;
}

const codec::json::object* object_in(const codec::json::object& in, std::string_view name) {
  const auto* value = in.if_contains(name);
  return value != nullptr && value->is_object() ? &value->as_object() : nullptr;
}

// Newer servers give trees of symbols. These clients read flat ones with a location.
void add_symbols(const codec::json::value& symbols, const std::string& uri,
                 codec::json::array& out) {
  if (!symbols.is_array()) return;
  for (const auto& one : symbols.as_array()) {
    if (!one.is_object()) continue;
    const auto& symbol = one.as_object();
    codec::json::object flat;
    for (const char* name : {"kind", "name"}) {
      if (const auto* value = symbol.if_contains(name)) flat[name] = *value;
    }
    if (const auto* location = object_in(symbol, "location")) {
      flat["location"] = *location;
    } else if (const auto* range = object_in(symbol, "range")) {
      flat["location"] = codec::json::object{{"uri", codec::text(uri)}, {"range", *range}};
    }
    out.emplace_back(std::move(flat));
    if (const auto* children = symbol.if_contains("children")) add_symbols(*children, uri, out);
  }
}

codec::json::object document_of(const std::string& uri) {
  return {{"textDocument", codec::json::object{{"uri", codec::text(uri)}}}};
}

// Whether the symbol's name has the query in it, in any case.
bool is_asked_for(const codec::json::value& symbol, const std::string& query) {
  const auto* name = symbol.as_object().if_contains("name");
  return name != nullptr && name->is_string() &&
         lowered(std::string_view(name->as_string())).find(query) != std::string::npos;
}

// Searches the documents of a project one by one, for a server without a search of its own.
Task<codec::json::array> search_documents(core::Cay& cay, LspPtr servers, LspBody in,
                                          std::string query) {
  const std::string pattern = in.place.language == "python"       ? "**/*.py"
                              : in.place.language == "typescript" ? "**/*.ts"
                                                                  : "**/*.js";
  CAY_CO_TRY(const GlobResult files,
             co_await cay.files().glob(in.box.who, in.box.ref, in.place.project, pattern,
                                       in.box.as(), kMostDocuments));
  codec::json::array out;
  for (const FileInfo& file : files.matches) {
    const std::string uri = whole_uri(in.box, file.path);
    CAY_CO_TRY(const auto found,
               co_await servers->request(cay, in.box, in.place, "textDocument/documentSymbol",
                                         document_of(uri)));
    codec::json::array symbols;
    add_symbols(found, uri, symbols);
    for (auto& symbol : symbols) {
      if (is_asked_for(symbol, query)) out.emplace_back(std::move(symbol));
    }
  }
  co_return out;
}

}  // namespace

Task<http::Response> lsp_start(core::Cay& cay, LspPtr servers, ExchangePtr exchange) {
  CAY_CO_TRY(LspBody in, co_await lsp_body_of(cay, exchange, false));
  CAY_CO_CHECK(co_await servers->start(cay, std::move(in.box), std::move(in.place)));
  co_return empty_answer(200);
}

Task<http::Response> lsp_stop(core::Cay& cay, LspPtr servers, ExchangePtr exchange) {
  CAY_CO_TRY(LspBody in, co_await lsp_body_of(cay, exchange, false));
  CAY_CO_CHECK(co_await servers->stop(cay, std::move(in.box), std::move(in.place)));
  co_return empty_answer(200);
}

Task<http::Response> lsp_did_open(core::Cay& cay, LspPtr servers, ExchangePtr exchange) {
  CAY_CO_TRY(LspBody in, co_await lsp_body_of(cay, exchange, true));
  CAY_CO_TRY(auto file, co_await cay.files().read(in.box.who, in.box.ref,
                                                  path_of_uri(in.box, in.uri), in.box.as(), {}));
  CAY_CO_TRY(const std::string text, co_await read_all(std::move(file.bytes), kMostDocument));
  codec::json::object params{
      {"textDocument", codec::json::object{{"uri", codec::text(whole_uri(in.box, in.uri))},
                                           {"languageId", in.place.language},
                                           {"version", 1},
                                           {"text", codec::text(text)}}}};
  CAY_CO_CHECK(
      co_await servers->notify(cay, in.box, in.place, "textDocument/didOpen", std::move(params)));
  co_return empty_answer(200);
}

Task<http::Response> lsp_did_close(core::Cay& cay, LspPtr servers, ExchangePtr exchange) {
  CAY_CO_TRY(LspBody in, co_await lsp_body_of(cay, exchange, true));
  CAY_CO_CHECK(co_await servers->notify(cay, in.box, in.place, "textDocument/didClose",
                                        document_of(whole_uri(in.box, in.uri))));
  co_return empty_answer(200);
}

Task<http::Response> lsp_document_symbols(core::Cay& cay, LspPtr servers, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string asked, needed_query(exchange, "uri"));
  CAY_CO_TRY(LspBody in, co_await lsp_query_of(cay, exchange));
  const std::string uri = whole_uri(in.box, asked);
  CAY_CO_TRY(const auto found,
             co_await servers->request(cay, in.box, in.place, "textDocument/documentSymbol",
                                       document_of(uri)));
  codec::json::array out;
  add_symbols(found, uri, out);
  co_return json_answer(200, out);
}

Task<http::Response> lsp_workspace_symbols(core::Cay& cay, LspPtr servers, ExchangePtr exchange) {
  const std::string query = query_text(exchange, "query");
  CAY_CO_TRY(LspBody in, co_await lsp_query_of(cay, exchange));
  codec::json::object params{{"query", codec::text(query)}};
  const auto found =
      co_await servers->request(cay, in.box, in.place, "workspace/symbol", std::move(params));
  codec::json::array out;
  if (found) {
    add_symbols(*found, "", out);
  } else if (found.error().code == Code::kUnsupported) {
    CAY_CO_TRY(out, co_await search_documents(cay, servers, std::move(in), lowered(query)));
  } else {
    co_return found.error();
  }
  co_return json_answer(200, out);
}

Task<http::Response> lsp_completions(core::Cay& cay, LspPtr servers, ExchangePtr exchange) {
  CAY_CO_TRY(LspBody in, co_await lsp_body_of(cay, exchange, true));
  const auto* position = object_in(in.body, "position");
  if (position == nullptr) co_return vendor_error(kInvalidBody, "position is required");
  codec::json::object params = document_of(whole_uri(in.box, in.uri));
  params["position"] = *position;
  if (const auto* context = object_in(in.body, "context")) params["context"] = *context;
  CAY_CO_TRY(auto found, co_await servers->request(cay, in.box, in.place, "textDocument/completion",
                                                   std::move(params)));
  if (found.is_object()) co_return json_answer(200, found);
  codec::json::array items;
  if (found.is_array()) items = std::move(found.as_array());
  co_return json_answer(200,
                        codec::json::object{{"isIncomplete", false}, {"items", std::move(items)}});
}

}  // namespace cay::api::daytona
