// The use cases of the native API, one function each. routes.cc maps them to paths.
#pragma once
#include "api/common/answer.h"
#include "api/native/native.h"
#include "core/cay.h"

namespace cay::api::native {

// sandboxes.cc
Task<http::Response> create_sandbox(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> ensure_sandbox(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> list_sandboxes(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> get_sandbox(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> update_sandbox(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> delete_sandbox(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> start_sandbox(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> stop_sandbox(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> pause_sandbox(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> resume_sandbox(core::Cay& cay, ExchangePtr exchange);

// snapshots.cc
Task<http::Response> list_snapshots(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> get_snapshot(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> create_snapshot(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> create_snapshot_from_archive(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> delete_snapshot(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> tag_snapshot(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> push_snapshot(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> get_push(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> capture_sandbox(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> fork_sandbox(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> rollback_sandbox(core::Cay& cay, ExchangePtr exchange);

// builds.cc
Task<http::Response> build_snapshot(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> get_build_log(core::Cay& cay, ExchangePtr exchange);

// contents.cc
Task<void> sandbox_diff(core::Cay& cay, ExchangePtr exchange);
Task<void> export_snapshot(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> check_store(core::Cay& cay, ExchangePtr exchange);

// volumes.cc
Task<http::Response> create_volume(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> list_volumes(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> get_volume(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> resize_volume(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> delete_volume(core::Cay& cay, ExchangePtr exchange);

// programs.cc
Task<http::Response> sandbox_programs(core::Cay& cay, ExchangePtr exchange);

// network.cc
Task<http::Response> sandbox_network(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> network_decisions(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> network_questions(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> answer_network_question(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> policies(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> try_policy(core::Cay& cay, ExchangePtr exchange);

// batch_delete.cc
Task<http::Response> batch_delete(core::Cay& cay, ExchangePtr exchange);

// usage.cc
Task<http::Response> usage(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> sandbox_usage(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> sandbox_stats(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> all_stats(core::Cay& cay, ExchangePtr exchange);

// daemon.cc
Task<http::Response> health(ExchangePtr exchange);
Task<http::Response> openapi(ExchangePtr exchange);
Task<http::Response> ready(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> metrics(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> version(NativeConfig config, ExchangePtr exchange);
Task<http::Response> doctor(core::Cay& cay, NativeConfig config, ExchangePtr exchange);
Task<http::Response> get_drain(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> set_drain(core::Cay& cay, ExchangePtr exchange);

// commands.cc
Task<http::Response> start_command(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> list_commands(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> get_command(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> forget_command(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> kill_command(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> write_stdin(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> close_stdin(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> resize_pty(core::Cay& cay, ExchangePtr exchange);
Task<void> read_output(core::Cay& cay, ExchangePtr exchange);

// code.cc
Task<http::Response> run_code(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> run_code_once(core::Cay& cay, ExchangePtr exchange);

// command_stream.cc
Task<void> command_stream(core::Cay& cay, std::shared_ptr<InputRoom> room, ExchangePtr exchange);

// tunnel.cc
Task<void> tunnel(core::Cay& cay, ExchangePtr exchange);

// links.cc
Task<http::Response> issue_link(core::Cay& cay, ServiceNames names, ExchangePtr exchange);
Task<http::Response> list_links(core::Cay& cay, ServiceNames names, ExchangePtr exchange);
Task<http::Response> withdraw_link(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> withdraw_links(core::Cay& cay, ExchangePtr exchange);

// secrets.cc
Task<http::Response> secret_key(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> put_secret(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> list_secrets(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> delete_secret(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> rotate_vault(core::Cay& cay, ExchangePtr exchange);

// files.cc
Task<void> read_file(core::Cay& cay, ExchangePtr exchange);
Task<void> head_file(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> write_file(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> remove_file(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> stat_file(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> list_files(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> make_directory(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> rename_file(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> glob_files(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> grep_files(core::Cay& cay, ExchangePtr exchange);
Task<void> read_tree(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> write_tree(core::Cay& cay, ExchangePtr exchange);

// file_changes.cc
Task<http::Response> change_mode(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> change_owner(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> copy_file(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> move_file(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> replace_in_files(core::Cay& cay, ExchangePtr exchange);
Task<void> download_files(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> upload_files(core::Cay& cay, ExchangePtr exchange);

// watches.cc
Task<http::Response> create_watch(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> list_watches(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> delete_watch(core::Cay& cay, ExchangePtr exchange);
Task<void> watch_events(core::Cay& cay, ExchangePtr exchange);

// events.cc
Task<void> events(core::Cay& cay, ExchangePtr exchange);

// batch.cc
Task<http::Response> batch(core::Cay& cay, ExchangePtr exchange);

}  // namespace cay::api::native
