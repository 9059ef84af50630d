// Every route of the toolbox.
#include <memory>
#include <utility>

#include "api/daytona/lookup.h"
#include "api/daytona/toolbox/computer_use.h"
#include "api/daytona/toolbox/execute.h"
#include "api/daytona/toolbox/files.h"
#include "api/daytona/toolbox/git.h"
#include "api/daytona/toolbox/info.h"
#include "api/daytona/toolbox/interpreter.h"
#include "api/daytona/toolbox/lsp.h"
#include "api/daytona/toolbox/pty.h"
#include "api/daytona/toolbox/sessions.h"
#include "api/daytona/toolbox/signed_routes.h"
#include "api/daytona/toolbox/token_sockets.h"
#include "api/daytona/toolbox/toolbox.h"

namespace cay::api::daytona {
namespace {

Task<http::Response> shown_version(core::Cay& cay, std::string version, ExchangePtr exchange) {
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(cay, exchange));
  static_cast<void>(sandbox);
  co_return json_answer(200, codec::json::object{{"version", "v" + version}});
}

void add_info(PlaneRoutes& routes, const std::string& version) {
  const auto show_version = [version](core::Cay& cay, ExchangePtr exchange) {
    return shown_version(cay, version, std::move(exchange));
  };
  routes.add("GET", "/version", show_version, Right::kReadOne);
  routes.add("GET", "/user-home-dir", user_home_dir, Right::kReadOne);
  routes.add("GET", "/work-dir", work_dir, Right::kReadOne);
  routes.add("GET", "/project-dir", work_dir, Right::kReadOne);  // the name of older clients
  routes.add("GET", "/system/metrics", system_metrics, Right::kUseOne);
  routes.add("GET", "/port", list_ports, Right::kUseOne);
  routes.add("GET", "/port/{port}/in-use", port_in_use, Right::kUseOne);
  routes.add("POST", "/env", update_env, Right::kManage);
}

void add_files(PlaneRoutes& routes) {
  routes.add("GET", "/files", list_files, Right::kReadOne);
  routes.add("DELETE", "/files", delete_file, Right::kUseOne);
  routes.add("GET", "/files/info", file_info, Right::kReadOne);
  routes.add("GET", "/files/search", search_files, Right::kReadOne);
  routes.add("GET", "/files/find", find_in_files, Right::kReadOne);
  routes.add("POST", "/files/folder", create_folder, Right::kUseOne);
  routes.add("POST", "/files/move", move_file, Right::kUseOne);
  routes.add("POST", "/files/permissions", set_permissions, Right::kUseOne);
  routes.add("POST", "/files/replace", replace_in_files, Right::kUseOne);
  routes.add_stream("GET", "/files/download", download_file, Right::kReadOne);
  routes.add("POST", "/files/upload", upload_file, Right::kUseOne);
  routes.add("POST", "/files/upload-v2", upload_file, Right::kUseOne);
  routes.add("POST", "/files/bulk-upload", bulk_upload, Right::kUseOne);
  routes.add_stream("POST", "/files/bulk-download", bulk_download, Right::kReadOne);
}

void add_processes(PlaneRoutes& routes) {
  routes.add("POST", "/process/execute", execute_command, Right::kUseOne);
  routes.add("POST", "/process/code-run", code_run, Right::kUseOne);
  const std::string session = "/process/session/{session}";
  routes.add("POST", "/process/session", create_session, Right::kUseOne);
  routes.add("GET", "/process/session", list_sessions, Right::kReadOne);
  routes.add("GET", "/process/session/entrypoint", entrypoint_session, Right::kReadOne);
  routes.add_stream("GET", "/process/session/entrypoint/logs", entrypoint_logs, Right::kReadOne);
  routes.add("GET", session, get_session, Right::kReadOne);
  routes.add("DELETE", session, delete_session, Right::kUseOne);
  routes.add("POST", session + "/exec", session_exec, Right::kUseOne);
  routes.add("GET", session + "/command/{command}", session_command, Right::kReadOne);
  routes.add_stream("GET", session + "/command/{command}/logs", session_logs, Right::kReadOne);
  routes.add("POST", session + "/command/{command}/input", session_input, Right::kUseOne);
}

void add_terminals(PlaneRoutes& routes) {
  routes.add_stream("GET", "/process/pty/create-connect", create_connect_pty, Right::kUseOne);
  routes.add("POST", "/process/pty", create_pty, Right::kUseOne);
  routes.add("GET", "/process/pty", list_ptys, Right::kReadOne);
  routes.add("GET", "/process/pty/{pty}", get_pty, Right::kReadOne);
  routes.add("DELETE", "/process/pty/{pty}", delete_pty, Right::kUseOne);
  routes.add_stream("GET", "/process/pty/{pty}/connect", connect_pty, Right::kUseOne);
  routes.add("POST", "/process/pty/{pty}/resize", resize_pty, Right::kUseOne);
}

void add_interpreters(PlaneRoutes& routes) {
  routes.add("POST", "/process/interpreter/context", create_interpreter, Right::kUseOne);
  routes.add("GET", "/process/interpreter/context", list_interpreters, Right::kReadOne);
  routes.add("DELETE", "/process/interpreter/context/{context}", delete_interpreter,
             Right::kUseOne);
  routes.add_stream("GET", "/process/interpreter/execute", interpret, Right::kUseOne);
}

void add_git(PlaneRoutes& routes) {
  routes.add("POST", "/git/clone", git_clone, Right::kUseOne);
  routes.add("GET", "/git/status", git_status, Right::kUseOne);
  routes.add("POST", "/git/add", git_add, Right::kUseOne);
  routes.add("POST", "/git/commit", git_commit, Right::kUseOne);
  routes.add("GET", "/git/history", git_history, Right::kUseOne);
  routes.add("POST", "/git/init", git_init, Right::kUseOne);
  routes.add("POST", "/git/reset", git_reset, Right::kUseOne);
  routes.add("POST", "/git/restore", git_restore, Right::kUseOne);
  routes.add("GET", "/git/branches", git_branches, Right::kUseOne);
  routes.add("POST", "/git/branches", git_create_branch, Right::kUseOne);
  routes.add("DELETE", "/git/branches", git_delete_branch, Right::kUseOne);
  routes.add("POST", "/git/checkout", git_checkout, Right::kUseOne);
  routes.add("POST", "/git/push", git_push, Right::kUseOne);
  routes.add("POST", "/git/pull", git_pull, Right::kUseOne);
  routes.add("GET", "/git/remotes", git_remotes, Right::kUseOne);
  routes.add("POST", "/git/remotes", git_add_remote, Right::kUseOne);
  routes.add("GET", "/git/config", git_get_config, Right::kUseOne);
  routes.add("POST", "/git/config", git_set_config, Right::kUseOne);
  routes.add("POST", "/git/config/user", git_configure_user, Right::kUseOne);
  routes.add("POST", "/git/credentials", git_authenticate, Right::kUseOne);
}

using LspVerb = Task<http::Response> (*)(core::Cay&, LspPtr, ExchangePtr);

void add_language_servers(PlaneRoutes& routes) {
  const auto servers = std::make_shared<LspServers>();
  const auto add = [&routes, &servers](const char* method, const char* path, LspVerb verb) {
    const auto bound = [servers, verb](core::Cay& cay, ExchangePtr exchange) {
      return verb(cay, servers, std::move(exchange));
    };
    routes.add(method, path, bound, Right::kUseOne);
  };
  add("POST", "/lsp/start", lsp_start);
  add("POST", "/lsp/stop", lsp_stop);
  add("POST", "/lsp/did-open", lsp_did_open);
  add("POST", "/lsp/did-close", lsp_did_close);
  add("POST", "/lsp/completions", lsp_completions);
  add("GET", "/lsp/document-symbols", lsp_document_symbols);
  add("GET", "/lsp/workspacesymbols", lsp_workspace_symbols);
}

}  // namespace

void add_toolbox_routes(PlaneRoutes& routes, const DaytonaConfig& config) {
  add_info(routes, config.version);
  add_files(routes);
  add_processes(routes);
  add_terminals(routes);
  add_interpreters(routes);
  add_git(routes);
  add_language_servers(routes);
  add_computer_use_routes(routes);
  divert_signed_files(routes.router(), routes.cay());
  divert_token_sockets(routes.router(), routes.cay(), config);
}

}  // namespace cay::api::daytona
