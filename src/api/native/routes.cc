// The table of the native API: every line is in openapi.json, and the other way round (a test).
#include "api/native/context_handlers.h"
#include "api/native/handlers.h"
#include "api/native/known_query.h"

namespace cay::api {
namespace {

using namespace native;

constexpr const char* kRoot = "/api/v1";

// With the router and core at hand: add("GET", path, function, the right that it needs).
class Adder {
 public:
  Adder(http::Router& router, core::Cay& cay) : router_(router), cay_(cay) {}

  using Answering = Task<http::Response> (*)(core::Cay&, ExchangePtr);
  using Streaming = Task<void> (*)(core::Cay&, ExchangePtr);

  void add(std::string method, const std::string& path, Answering verb, Right right) {
    router_.add(
        std::move(method), kRoot + path,
        answering(
            cay_,
            [&cay = cay_, verb](ExchangePtr exchange) { return verb(cay, std::move(exchange)); },
            native_error),
        right);
  }
  void add(std::string method, const std::string& path, Streaming verb, Right right) {
    router_.add(std::move(method), kRoot + path,
                streaming([&cay = cay_,
                           verb](ExchangePtr exchange) { return verb(cay, std::move(exchange)); },
                          native_error),
                right);
  }

 private:
  http::Router& router_;
  core::Cay& cay_;
};

http::Response shaped(const http::RequestHead&, int status, const Error& error) {
  http::Response response = native_error(error, note_error(error));
  response.status = status;
  return response;
}

void add_daemon_routes(http::Router& router, core::Cay& cay, Adder& to,
                       const NativeConfig& config) {
  router.add("GET", "/healthz", answering(cay, health, native_error), http::Auth::kNone);
  router.add("GET", "/api/v1/openapi.json", answering(cay, openapi, native_error), Right::kAny);
  router.add(
      "GET", "/api/v1/version",
      answering(
          cay, [config](ExchangePtr exchange) { return version(config, std::move(exchange)); },
          native_error),
      Right::kAny);
  const auto bare = [&](const char* path, Task<http::Response> (*verb)(core::Cay&, ExchangePtr),
                        Right right) {
    router.add(
        "GET", path,
        answering(
            cay, [&cay, verb](ExchangePtr exchange) { return verb(cay, std::move(exchange)); },
            native_error),
        right);
  };
  bare("/readyz", ready, Right::kRead);
  bare("/metrics", metrics, Right::kWatchHost);
  router.add(
      "GET", std::string(kRoot) + "/doctor",
      answering(
          cay,
          [&cay, config](ExchangePtr exchange) { return doctor(cay, config, std::move(exchange)); },
          native_error),
      Right::kWatchHost);
  to.add("GET", "/usage", usage, Right::kRead);
  to.add("GET", "/drain", get_drain, Right::kHost);
  to.add("POST", "/drain", set_drain, Right::kHost);
  to.add("GET", "/stats", all_stats, Right::kRead);
  to.add("GET", "/events", events, Right::kRead);
  to.add("GET", "/policies", policies, Right::kRead);
  to.add("POST", "/policies/try", try_policy, Right::kRead);
  to.add("GET", "/vault/key", secret_key, Right::kRead);
  to.add("POST", "/vault/rotate", rotate_vault, Right::kHost);
  to.add("GET", "/secrets", list_secrets, Right::kRead);
  to.add("PUT", "/secrets/{name}", put_secret, Right::kHost);
  to.add("DELETE", "/secrets/{name}", delete_secret, Right::kHost);
}

void add_snapshot_routes(Adder& to) {
  to.add("GET", "/snapshots", list_snapshots, Right::kRead);
  to.add("POST", "/snapshots", create_snapshot, Right::kManage);
  to.add("POST", "/snapshots/archive", create_snapshot_from_archive, Right::kManage);
  to.add("POST", "/snapshots/build", build_snapshot, Right::kManage);
  to.add("GET", "/snapshots/{ref}/build", get_build_log, Right::kRead);
  to.add("GET", "/snapshots/{ref}", get_snapshot, Right::kRead);
  to.add("DELETE", "/snapshots/{ref}", delete_snapshot, Right::kManage);
  to.add("POST", "/snapshots/{ref}/tag", tag_snapshot, Right::kManage);
  to.add("POST", "/snapshots/{ref}/push", push_snapshot, Right::kManage);
  to.add("GET", "/snapshots/{ref}/push", get_push, Right::kRead);
  to.add("GET", "/snapshots/{ref}/archive", export_snapshot, Right::kRead);
  to.add("POST", "/store/check", check_store, Right::kHost);
  to.add("GET", "/sandboxes/{ref}/diff", sandbox_diff, Right::kReadOne);
  to.add("POST", "/sandboxes/{ref}/snapshot", capture_sandbox, Right::kManage);
  to.add("POST", "/sandboxes/{ref}/fork", fork_sandbox, Right::kManage);
  to.add("POST", "/sandboxes/{ref}/rollback", rollback_sandbox, Right::kManage);
}

void add_volume_routes(Adder& to) {
  to.add("POST", "/volumes", create_volume, Right::kManage);
  to.add("GET", "/volumes", list_volumes, Right::kRead);
  to.add("GET", "/volumes/{ref}", get_volume, Right::kRead);
  to.add("PATCH", "/volumes/{ref}", resize_volume, Right::kManage);
  to.add("DELETE", "/volumes/{ref}", delete_volume, Right::kManage);
}

void add_sandbox_routes(Adder& to) {
  to.add("POST", "/sandboxes", create_sandbox, Right::kManage);
  to.add("GET", "/sandboxes", list_sandboxes, Right::kRead);
  to.add("POST", "/sandboxes/ensure", ensure_sandbox, Right::kManage);
  to.add("POST", "/sandboxes/batch-delete", batch_delete, Right::kManage);
  to.add("GET", "/sandboxes/{ref}", get_sandbox, Right::kReadOne);
  to.add("PATCH", "/sandboxes/{ref}", update_sandbox, Right::kManage);
  to.add("DELETE", "/sandboxes/{ref}", delete_sandbox, Right::kManage);
  to.add("POST", "/sandboxes/{ref}/start", start_sandbox, Right::kUseOne);
  to.add("POST", "/sandboxes/{ref}/stop", stop_sandbox, Right::kUseOne);
  to.add("POST", "/sandboxes/{ref}/pause", pause_sandbox, Right::kUseOne);
  to.add("POST", "/sandboxes/{ref}/resume", resume_sandbox, Right::kUseOne);
  to.add("GET", "/sandboxes/{ref}/stats", sandbox_stats, Right::kReadOne);
  to.add("GET", "/sandboxes/{ref}/usage", sandbox_usage, Right::kReadOne);
  to.add("GET", "/sandboxes/{ref}/programs", sandbox_programs, Right::kReadOne);
  to.add("GET", "/sandboxes/{ref}/network", sandbox_network, Right::kReadOne);
  to.add("GET", "/sandboxes/{ref}/network/decisions", network_decisions, Right::kReadOne);
  to.add("GET", "/sandboxes/{ref}/network/questions", network_questions, Right::kReadOne);
  to.add("POST", "/sandboxes/{ref}/network/questions/{id}", answer_network_question,
         Right::kManage);
  to.add("POST", "/sandboxes/{ref}/batch", batch, Right::kUseOne);
  to.add("POST", "/sandboxes/{ref}/code", run_code, Right::kUseOne);
  to.add("POST", "/code", run_code_once, Right::kManage);
  to.add("GET", "/sandboxes/{ref}/tunnel", tunnel, Right::kUseOne);
}

void add_link_routes(http::Router& router, core::Cay& cay, Adder& to, const ServiceNames& names) {
  const std::string all = "/sandboxes/{ref}/links";
  const auto named = [&](const char* method,
                         Task<http::Response> (*verb)(core::Cay&, ServiceNames, ExchangePtr),
                         Right right) {
    router.add(method, kRoot + all,
               answering(
                   cay,
                   [&cay, names, verb](ExchangePtr exchange) {
                     return verb(cay, names, std::move(exchange));
                   },
                   native_error),
               right);
  };
  named("POST", issue_link, Right::kUseOne);
  named("GET", list_links, Right::kReadOne);
  to.add("DELETE", all, withdraw_links, Right::kUseOne);
  to.add("DELETE", all + "/{id}", withdraw_link, Right::kUseOne);
}

void add_command_routes(http::Router& router, core::Cay& cay, Adder& to,
                        const std::shared_ptr<InputRoom>& input) {
  const std::string all = "/sandboxes/{ref}/commands";
  const StreamVerb session = [&cay, input](ExchangePtr exchange) {
    return command_stream(cay, input, std::move(exchange));
  };
  router.add("GET", kRoot + all + "/ws", streaming(session, native_error), Right::kUseOne);
  const std::string one = all + "/{id}";
  to.add("POST", all, start_command, Right::kUseOne);
  to.add("GET", all, list_commands, Right::kReadOne);
  to.add("GET", one, get_command, Right::kReadOne);
  to.add("DELETE", one, forget_command, Right::kUseOne);
  to.add("POST", one + "/kill", kill_command, Right::kUseOne);
  to.add("POST", one + "/stdin", write_stdin, Right::kUseOne);
  to.add("POST", one + "/stdin/close", close_stdin, Right::kUseOne);
  to.add("POST", one + "/resize", resize_pty, Right::kUseOne);
  to.add("GET", one + "/output", read_output, Right::kReadOne);
}

void add_context_routes(Adder& to) {
  const std::string all = "/sandboxes/{ref}/contexts";
  const std::string one = all + "/{id}";
  to.add("POST", all, create_context, Right::kUseOne);
  to.add("GET", all, list_contexts, Right::kReadOne);
  to.add("GET", one, get_context, Right::kReadOne);
  to.add("DELETE", one, delete_context, Right::kUseOne);
  to.add("POST", one + "/run", run_in_context, Right::kUseOne);
  to.add("GET", one + "/runs/{run}", get_evaluation, Right::kReadOne);
  to.add("POST", one + "/interrupt", interrupt_context, Right::kUseOne);
  to.add("POST", one + "/restart", restart_context, Right::kUseOne);
}

void add_file_routes(Adder& to) {
  const std::string files = "/sandboxes/{ref}/files";
  to.add("GET", files, read_file, Right::kReadOne);
  to.add("HEAD", files, head_file, Right::kReadOne);
  to.add("PUT", files, write_file, Right::kUseOne);
  to.add("DELETE", files, remove_file, Right::kUseOne);
  to.add("GET", files + "/stat", stat_file, Right::kReadOne);
  to.add("GET", files + "/list", list_files, Right::kReadOne);
  to.add("POST", files + "/mkdir", make_directory, Right::kUseOne);
  to.add("POST", files + "/rename", rename_file, Right::kUseOne);
  to.add("POST", files + "/glob", glob_files, Right::kReadOne);
  to.add("POST", files + "/grep", grep_files, Right::kReadOne);
  to.add("GET", files + "/tree", read_tree, Right::kReadOne);
  to.add("PUT", files + "/tree", write_tree, Right::kUseOne);
  to.add("POST", files + "/chmod", change_mode, Right::kUseOne);
  to.add("POST", files + "/chown", change_owner, Right::kUseOne);
  to.add("POST", files + "/copy", copy_file, Right::kUseOne);
  to.add("POST", files + "/move", move_file, Right::kUseOne);
  to.add("POST", files + "/replace", replace_in_files, Right::kUseOne);
  to.add("POST", files + "/download", download_files, Right::kReadOne);
  to.add("POST", files + "/upload", upload_files, Right::kUseOne);
  const std::string watches = "/sandboxes/{ref}/watches";
  to.add("POST", watches, create_watch, Right::kUseOne);
  to.add("GET", watches, list_watches, Right::kReadOne);
  to.add("DELETE", watches + "/{id}", delete_watch, Right::kUseOne);
  to.add("GET", watches + "/{id}/events", watch_events, Right::kReadOne);
}

}  // namespace

void add_native_routes(http::Router& router, core::Cay& cay, NativeConfig config) {
  // Everything that no other facade has is native: so is a path that does not exist.
  router.declare({.prefixes = {"/"}, .refusal = shaped, .without_key = {"GET /healthz"}});
  Adder to(router, cay);
  add_daemon_routes(router, cay, to, config);
  add_sandbox_routes(to);
  add_snapshot_routes(to);
  add_volume_routes(to);
  add_link_routes(router, cay, to, config.names);
  add_command_routes(router, cay, to, config.input);
  add_context_routes(to);
  add_file_routes(to);
  refuse_unknown_queries(router);
}

}  // namespace cay::api
