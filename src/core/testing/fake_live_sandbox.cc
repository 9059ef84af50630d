#include "core/testing/fake_live_sandbox.h"

#include "async/deadline.h"

namespace cay::core::testing {

Result<void> FakeKeeper::fault_of() const {
  if (fault) return *fault;
  return {};
}
Result<void> FakeKeeper::answers() const {
  CAY_CHECK(fault_of());
  return disk_.commands->alive();
}

Task<Command> FakeLiveCommands::start(CommandSpec spec) {
  CAY_CO_CHECK(fault_of());
  if (numbers.paused && !fake_commands().table.contains(spec.id)) {
    co_return Error{Code::kNotReady, "sandbox_paused", "paused", 0};
  }
  co_return fake_commands().start(std::move(spec));
}
Task<std::unique_ptr<CommandReader>> FakeLiveCommands::attach(CommandId id, OutputOffsets from) {
  CAY_CO_CHECK(fault_of());
  co_return fake_commands().attach(id, from);
}
Task<void> FakeLiveCommands::write_stdin(CommandId id, Bytes data, bool more) {
  CAY_CO_CHECK(fault_of());
  fake_commands().more_stdin = more;
  co_return fake_commands().write_stdin(id, std::move(data));
}
Task<void> FakeLiveCommands::close_stdin(CommandId id) {
  CAY_CO_CHECK(fault_of());
  co_return fake_commands().close_stdin(id);
}
Task<void> FakeLiveCommands::kill(CommandId id, int signal, std::string by) {
  CAY_CO_CHECK(fault_of());
  co_return fake_commands().kill(id, signal, by);
}
Task<void> FakeLiveCommands::resize(CommandId id, PtySize size) {
  CAY_CO_CHECK(fault_of());
  co_return fake_commands().resize(id, size);
}
Task<Command> FakeLiveCommands::command(CommandId id) {
  CAY_CO_CHECK(fault_of());
  co_return fake_commands().get(id);
}
Task<std::vector<Command>> FakeLiveCommands::commands() {
  CAY_CO_CHECK(fault_of());
  co_return fake_commands().list();
}
Task<void> FakeLiveCommands::forget(CommandId id) {
  CAY_CO_CHECK(fault_of());
  co_return fake_commands().forget(id);
}
void FakeLiveCommands::on_commands(CommandHandlers handlers) {
  fake_commands().listen(std::move(handlers.ended), std::move(handlers.note));
}
bool FakeLiveCommands::keeps_notes() const { return fake_commands().keeps_notes; }
Task<void> FakeLiveCommands::noted(NoteMark through) {
  std::erase_if(fake_commands().notes,
                [&](const auto& note) { return note.first.number <= through.number; });
  co_return Result<void>();
}

Task<FileInfo> FakeLiveFiles::stat(std::string path, FileAs as, bool) {
  CAY_CO_CHECK(answers());
  co_return fake_files().stat(path, as);
}
Task<FileStream> FakeLiveFiles::read(std::string path, FileAs as, ReadRange range) {
  CAY_CO_CHECK(answers());
  co_return fake_files().read(path, as, range);
}
Task<FileInfo> FakeLiveFiles::write(std::string path, WriteOptions options,
                                    std::unique_ptr<ByteSource> data) {
  CAY_CO_CHECK(answers());
  auto written = co_await fake_files().write(std::move(path), std::move(options), std::move(data));
  co_return written;
}
Task<std::vector<FileInfo>> FakeLiveFiles::list(std::string path, FileAs as) {
  CAY_CO_CHECK(answers());
  co_return fake_files().list(path, as);
}
Task<void> FakeLiveFiles::make_directory(std::string path, FileAs as, std::uint32_t mode) {
  CAY_CO_CHECK(answers());
  co_return fake_files().make_directory(path, as, mode);
}
Task<void> FakeLiveFiles::remove(std::string path, FileAs as, bool recursive) {
  CAY_CO_CHECK(answers());
  co_return fake_files().remove(path, as, recursive);
}
Task<void> FakeLiveFiles::rename(std::string from, std::string to, FileAs as) {
  CAY_CO_CHECK(answers());
  co_return fake_files().rename(from, to, as);
}
Task<GlobResult> FakeLiveFiles::glob(std::string root, std::string pattern, FileAs as,
                                     std::uint32_t limit) {
  CAY_CO_CHECK(answers());
  co_return fake_files().glob(root, pattern, as, limit);
}
Task<GrepResult> FakeLiveFiles::grep(std::string root, std::string text, std::string file_glob,
                                     FileAs as, std::uint32_t limit) {
  CAY_CO_CHECK(answers());
  co_return fake_files().grep(root, text, file_glob, as, limit);
}
Task<std::unique_ptr<TreeSource>> FakeLiveFiles::read_tree(std::string path, FileAs as) {
  CAY_CO_CHECK(answers());
  co_return fake_files().read_tree(path, as);
}
Task<void> FakeLiveFiles::write_tree(std::string path, FileAs as,
                                     std::unique_ptr<TreeSource> tree) {
  CAY_CO_CHECK(answers());
  auto written = co_await fake_files().write_tree(std::move(path), std::move(as), std::move(tree));
  co_return written;
}
Task<void> FakeLiveLayers::write_layer(std::unique_ptr<LayerSource> entries) {
  CAY_CO_CHECK(answers());
  while (true) {
    CAY_CO_TRY(auto event, co_await entries->next());
    if (!event) break;
    fake_upper().entries.push_back(*std::move(event));
  }
  put_files(fake_upper().entries, fake_files());
  if (write_layer_error) co_return *write_layer_error;
  co_return Result<void>();
}
Task<std::unique_ptr<LayerSource>> FakeLiveLayers::read_layer(std::string path) {
  CAY_CO_CHECK(answers());
  for (const auto& [directory, events] : directories) {
    if (path == directory) co_return layer_source(events);
    const std::string top = directory == "/" ? "/" : directory + "/";
    if (!path.starts_with(top)) continue;
    auto below = events_below(events, path.substr(top.size()));
    if (!below.empty()) co_return layer_source(std::move(below));
  }
  co_return Error{Code::kNotFound, "file_not_found", path + ": no such directory", 0};
}
Task<SandboxStats> FakeLiveState::stats() {
  while (silent) {
    co_await sleep_for(std::chrono::milliseconds(1));
  }
  CAY_CO_CHECK(answers());
  const SandboxStats seen = numbers;
  const bool waits = std::exchange(late, false);
  while (waits && held) {
    co_await sleep_for(std::chrono::milliseconds(1));
  }
  co_return seen;
}
Task<void> FakeLiveState::pause() {
  CAY_CO_CHECK(answers());
  if (pause_error) co_return *pause_error;
  numbers.paused = true;
  co_return Result<void>();
}
Task<void> FakeLiveState::resume() {
  CAY_CO_CHECK(answers());
  numbers.paused = false;
  co_return Result<void>();
}

}  // namespace cay::core::testing
