// The table of the native API: every line is in openapi.json, and the other way round (a test).
#include "api/native/handlers.h"

namespace cay::api {
namespace {

using namespace native;

constexpr const char* kRoot = "/api/v1";

// With the router and core at hand: add("GET", path, function).
class Adder {
 public:
  Adder(http::Router& router, core::Cay& cay) : router_(router), cay_(cay) {}

  using Answering = Task<http::Response> (*)(core::Cay&, ExchangePtr);
  using Streaming = Task<void> (*)(core::Cay&, ExchangePtr);

  void add(std::string method, const std::string& path, Answering verb) {
    router_.add(std::move(method), kRoot + path,
                answering([&cay = cay_, verb](ExchangePtr exchange) { return verb(cay, std::move(exchange)); }, native_error));
  }
  void add(std::string method, const std::string& path, Streaming verb) {
    router_.add(std::move(method), kRoot + path,
                streaming([&cay = cay_, verb](ExchangePtr exchange) { return verb(cay, std::move(exchange)); }, native_error));
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

void add_daemon_routes(http::Router& router, core::Cay& cay, Adder& to, const NativeConfig& config) {
  router.add("GET", "/healthz", answering(health, native_error), http::Auth::kNone);
  router.add("GET", "/api/v1/openapi.json", answering(openapi, native_error));
  router.add("GET", "/api/v1/version",
             answering([config](ExchangePtr exchange) { return version(config, std::move(exchange)); }, native_error));
  const auto bare = [&](const char* path, Task<http::Response> (*verb)(core::Cay&, ExchangePtr)) {
    router.add("GET", path, answering([&cay, verb](ExchangePtr exchange) { return verb(cay, std::move(exchange)); }, native_error));
  };
  bare("/readyz", ready);
  bare("/metrics", metrics);
  to.add("GET", "/doctor", doctor);
  to.add("GET", "/usage", usage);
  to.add("GET", "/drain", get_drain);
  to.add("POST", "/drain", set_drain);
  to.add("GET", "/stats", all_stats);
  to.add("GET", "/snapshots", snapshots);
  to.add("GET", "/events", events);
}

void add_sandbox_routes(Adder& to) {
  to.add("POST", "/sandboxes", create_sandbox);
  to.add("GET", "/sandboxes", list_sandboxes);
  to.add("POST", "/sandboxes/batch-delete", batch_delete);
  to.add("GET", "/sandboxes/{ref}", get_sandbox);
  to.add("PATCH", "/sandboxes/{ref}", update_sandbox);
  to.add("DELETE", "/sandboxes/{ref}", delete_sandbox);
  to.add("POST", "/sandboxes/{ref}/start", start_sandbox);
  to.add("POST", "/sandboxes/{ref}/stop", stop_sandbox);
  to.add("POST", "/sandboxes/{ref}/pause", pause_sandbox);
  to.add("POST", "/sandboxes/{ref}/resume", resume_sandbox);
  to.add("GET", "/sandboxes/{ref}/stats", sandbox_stats);
  to.add("GET", "/sandboxes/{ref}/usage", sandbox_usage);
  to.add("GET", "/sandboxes/{ref}/programs", sandbox_programs);
  to.add("GET", "/sandboxes/{ref}/network", sandbox_network);
  to.add("POST", "/sandboxes/{ref}/batch", batch);
  to.add("GET", "/sandboxes/{ref}/tunnel", tunnel);
}

void add_link_routes(http::Router& router, core::Cay& cay, Adder& to, const ServiceNames& names) {
  const std::string all = "/sandboxes/{ref}/links";
  const auto named = [&](const char* method, Task<http::Response> (*verb)(core::Cay&, ServiceNames, ExchangePtr)) {
    router.add(method, kRoot + all,
               answering([&cay, names, verb](ExchangePtr exchange) { return verb(cay, names, std::move(exchange)); }, native_error));
  };
  named("POST", issue_link);
  named("GET", list_links);
  to.add("DELETE", all, withdraw_links);
  to.add("DELETE", all + "/{id}", withdraw_link);
}

void add_command_routes(http::Router& router, core::Cay& cay, Adder& to, const std::shared_ptr<InputRoom>& input) {
  const std::string all = "/sandboxes/{ref}/commands";
  const StreamVerb session = [&cay, input](ExchangePtr exchange) { return command_stream(cay, input, std::move(exchange)); };
  router.add("GET", kRoot + all + "/ws", streaming(session, native_error));
  const std::string one = all + "/{id}";
  to.add("POST", all, start_command);
  to.add("GET", all, list_commands);
  to.add("GET", one, get_command);
  to.add("DELETE", one, forget_command);
  to.add("POST", one + "/kill", kill_command);
  to.add("POST", one + "/stdin", write_stdin);
  to.add("POST", one + "/stdin/close", close_stdin);
  to.add("POST", one + "/resize", resize_pty);
  to.add("GET", one + "/output", read_output);
}

void add_file_routes(Adder& to) {
  const std::string files = "/sandboxes/{ref}/files";
  to.add("GET", files, read_file);
  to.add("HEAD", files, head_file);
  to.add("PUT", files, write_file);
  to.add("DELETE", files, remove_file);
  to.add("GET", files + "/stat", stat_file);
  to.add("GET", files + "/list", list_files);
  to.add("POST", files + "/mkdir", make_directory);
  to.add("POST", files + "/rename", rename_file);
  to.add("POST", files + "/glob", glob_files);
  to.add("POST", files + "/grep", grep_files);
  to.add("GET", files + "/tree", read_tree);
  to.add("PUT", files + "/tree", write_tree);
}

}  // namespace

void add_native_routes(http::Router& router, core::Cay& cay, NativeConfig config) {
  Adder to(router, cay);
  add_daemon_routes(router, cay, to, config);
  add_sandbox_routes(to);
  add_link_routes(router, cay, to, config.names);
  add_command_routes(router, cay, to, config.input);
  add_file_routes(to);
  router.shape_errors("/", shaped);
}

}  // namespace cay::api
