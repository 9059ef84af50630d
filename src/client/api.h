// The verbs of the native API as coroutines; the synchronous and the coroutine client wrap them.
#pragma once
#include <string>
#include <vector>

#include "cay/code.h"
#include "cay/error.h"
#include "client/command_stream.h"
#include "client/connection.h"
#include "codec/kept_output.h"

namespace cay::client {

Task<sdk::SandboxInfo> create(Connection& at, sdk::CreateOptions options);
struct Ensured {
  sdk::SandboxInfo info;
  bool created = false;
};
Task<Ensured> ensure(Connection& at, std::string claim, sdk::CreateOptions options);
Task<sdk::SandboxInfo> get(Connection& at, std::string ref);
// Returns the id behind a name, without a request if it is an id already.
Task<std::string> id_of(Connection& at, std::string ref);
Task<sdk::SandboxInfo> update(Connection& at, std::string ref, sdk::UpdateOptions options);
// Polls until ready; kNotReady if it fails, kDeadlineExceeded if it takes longer.
Task<sdk::SandboxInfo> start(Connection& at, std::string ref, double timeout_s);
Task<sdk::SandboxInfo> stop(Connection& at, std::string ref);
Task<sdk::SandboxInfo> pause(Connection& at, std::string ref);
Task<sdk::SandboxInfo> resume(Connection& at, std::string ref);
Task<void> remove(Connection& at, std::string ref);
Task<std::vector<sdk::SandboxInfo>> list(Connection& at, sdk::ListOptions options);
Task<sdk::Stats> stats(Connection& at, std::string ref);
Task<sdk::NetworkReport> network(Connection& at, std::string ref);
Task<sdk::ProgramPage> programs(Connection& at, std::string ref, std::uint64_t offset,
                                std::uint32_t limit);
Task<std::vector<sdk::Feature>> doctor(Connection& at);
Task<sdk::Version> version(Connection& at);

Task<std::vector<sdk::Snapshot>> snapshots(Connection& at);
Task<sdk::Snapshot> snapshot(Connection& at, std::string ref);
Task<sdk::Snapshot> pull(Connection& at, sdk::PullOptions options);
Task<sdk::Snapshot> import_archive(Connection& at, std::string name,
                                   std::unique_ptr<ByteSource> archive);
// `context`: a tar.
Task<sdk::Snapshot> build(Connection& at, sdk::BuildOptions options,
                          std::unique_ptr<ByteSource> context);
// Returns the log from `offset` on, once there is more of it, or after `wait_s`.
Task<sdk::BuildLog> build_log(Connection& at, std::string ref, std::uint64_t offset,
                              std::uint32_t wait_s);
Task<sdk::Snapshot> tag(Connection& at, std::string ref, std::string tag);
Task<sdk::PushState> push(Connection& at, std::string ref, sdk::PushOptions options);
// The errors of a snapshot that did not become ready, and of an image that was not pushed.
ApiError not_ready(const sdk::Snapshot& snapshot);
ApiError not_pushed(const std::string& image, const sdk::PushState& state);
// The newest push of it.
Task<sdk::PushState> push_state(Connection& at, std::string ref);
Task<void> remove_snapshot(Connection& at, std::string ref);
Task<sdk::Snapshot> capture(Connection& at, std::string ref, std::string name);
Task<std::vector<sdk::SandboxInfo>> fork(Connection& at, std::string ref, sdk::ForkOptions options);
Task<sdk::SandboxInfo> rollback(Connection& at, std::string ref, std::string to);

// A line of JSON for each change: DiffReader reads them.
Task<std::unique_ptr<ByteSource>> diff(Connection& at, std::string ref);
class DiffReader {
 public:
  explicit DiffReader(const sdk::OnChange& change) : change_(change) {}
  // Calls the caller's function for each change in it.
  Result<void> add(const std::string& piece);
  // Fails if the last line did not come.
  Result<sdk::DiffSummary> finish() const;

 private:
  const sdk::OnChange& change_;
  std::string rest_;
  sdk::DiffSummary sums_;
  bool ended_ = false;
};
Task<std::unique_ptr<ByteSource>> export_snapshot(Connection& at, std::string ref);
Task<sdk::StoreReport> check_store(Connection& at, bool repair);

Task<std::vector<sdk::Volume>> volumes(Connection& at);
Task<sdk::Volume> volume(Connection& at, std::string ref);
Task<sdk::Volume> create_volume(Connection& at, std::string name, std::uint64_t disk_bytes);
Task<sdk::Volume> resize_volume(Connection& at, std::string ref, std::uint64_t disk_bytes);
Task<void> remove_volume(Connection& at, std::string ref);

Task<sdk::CodeResult> run_code(Connection& at, std::string ref, std::string code,
                               sdk::CodeOptions options);
Task<sdk::CodeResult> run_code_once(Connection& at, std::string code, sdk::CodeOptions options,
                                    sdk::CreateOptions sandbox);

Task<sdk::CommandInfo> start_detached(Connection& at, std::string ref, json::object spec);
Task<std::vector<sdk::CommandInfo>> commands(Connection& at, std::string ref);
Task<sdk::CommandInfo> command(Connection& at, std::string ref, std::string id);
Task<void> kill(Connection& at, std::string ref, std::string id, int signal);
Task<void> forget(Connection& at, std::string ref, std::string id);
// Reads to the end, gathering up to `keep` bytes of each stream that has no callback.
Task<sdk::CommandResult> gather(CommandStream& stream, sdk::OutputCallbacks callbacks,
                                std::size_t keep);

// Gathers events into a result; shared by both clients.
class Gatherer {
 public:
  Gatherer(const sdk::OutputCallbacks& callbacks, std::size_t keep)
      : callbacks_(callbacks), out_(keep), err_(keep) {}
  // True: that was the end.
  bool add(sdk::Event event);
  sdk::CommandResult take(std::string sandbox);

 private:
  void add_output(sdk::Output& output);
  void add_gap(const sdk::Gap& gap);
  const sdk::OutputCallbacks& callbacks_;
  codec::KeptOutput out_, err_;
  sdk::CommandResult result_;
};

Task<std::unique_ptr<ByteSource>> read_file(Connection& at, std::string ref, std::string path,
                                            std::string user);
Task<sdk::FileInfo> write_file(Connection& at, std::string ref, std::string path,
                               std::uint32_t mode, std::string user,
                               std::unique_ptr<ByteSource> bytes);
Task<sdk::FileInfo> stat(Connection& at, std::string ref, std::string path, std::string user);
Task<std::vector<sdk::FileInfo>> list_directory(Connection& at, std::string ref, std::string path,
                                                std::string user);
Task<void> make_directory(Connection& at, std::string ref, std::string path, std::string user);
Task<void> remove_path(Connection& at, std::string ref, std::string path, bool recursive,
                       std::string user);
Task<void> rename(Connection& at, std::string ref, std::string from, std::string to,
                  std::string user);
Task<std::vector<sdk::FileInfo>> glob(Connection& at, std::string ref, std::string root,
                                      std::string pattern);
Task<std::vector<sdk::GrepMatch>> grep(Connection& at, std::string ref, std::string root,
                                       std::string text, std::string glob);
Task<sdk::ChangeCount> set_mode(Connection& at, std::string ref, std::string path,
                                std::uint32_t mode, bool recursive, std::string user);
Task<sdk::ChangeCount> set_owner(Connection& at, std::string ref, std::string path,
                                 std::string owner, bool recursive, std::string user);
Task<sdk::ChangeCount> copy_path(Connection& at, std::string ref, std::string from, std::string to,
                                 bool exclusive, std::string user);
Task<sdk::ChangeCount> move_path(Connection& at, std::string ref, std::string from, std::string to,
                                 bool exclusive, std::string user);
struct Replacement {
  std::string path, text, by;
  std::string glob;  // empty: all files
};
Task<sdk::ReplaceReport> replace(Connection& at, std::string ref, Replacement what,
                                 std::string user);
Task<std::vector<sdk::FileInfo>> list_levels(Connection& at, std::string ref, std::string path,
                                             std::uint32_t depth, sdk::FileFacts facts,
                                             std::string user);
Task<std::vector<sdk::FileContent>> read_files(Connection& at, std::string ref,
                                               std::vector<std::string> paths, std::string user);
Task<std::vector<sdk::FileContent>> write_files(Connection& at, std::string ref,
                                                std::vector<sdk::FileToWrite> files,
                                                std::string user);
Task<std::string> watch(Connection& at, std::string ref, std::string path, std::int64_t idle_s,
                        std::string user);
Task<sdk::FileEvents> watch_events(Connection& at, std::string ref, std::string id,
                                   std::uint64_t after, std::uint32_t wait_s);
Task<void> end_watch(Connection& at, std::string ref, std::string id);

Task<std::unique_ptr<ByteSource>> read_tree(Connection& at, std::string ref, std::string path,
                                            std::string user);
Task<void> write_tree(Connection& at, std::string ref, std::string path, std::string user,
                      std::unique_ptr<ByteSource> tar);

}  // namespace cay::client
