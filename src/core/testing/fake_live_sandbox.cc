// FakeLiveSandbox: hands each call to the fake commands or files; files fail too once it is dead.
#include "async/deadline.h"
#include "core/testing/fake_runtime.h"

namespace cay::core::testing {

Result<void> FakeLiveSandbox::fault_of() const {
  if (fault) return *fault;
  return {};
}
Result<void> FakeLiveSandbox::answers() const {
  CAY_CHECK(fault_of());
  return disk_.commands->alive();
}

Task<Command> FakeLiveSandbox::start(CommandSpec spec) {
  CAY_CO_CHECK(fault_of());
  if (numbers.paused && !disk_.commands->table.contains(spec.id)) {
    co_return Error{Code::kNotReady, "sandbox_paused", "paused", 0};
  }
  co_return disk_.commands->start(std::move(spec));
}
Task<std::unique_ptr<CommandReader>> FakeLiveSandbox::attach(CommandId id, OutputOffsets from) {
  CAY_CO_CHECK(fault_of());
  co_return disk_.commands->attach(id, from);
}
Task<void> FakeLiveSandbox::write_stdin(CommandId id, Bytes data, bool more) {
  CAY_CO_CHECK(fault_of());
  disk_.commands->more_stdin = more;
  co_return disk_.commands->write_stdin(id, std::move(data));
}
Task<void> FakeLiveSandbox::close_stdin(CommandId id) {
  CAY_CO_CHECK(fault_of());
  co_return disk_.commands->close_stdin(id);
}
Task<void> FakeLiveSandbox::kill(CommandId id, int signal, std::string by) {
  CAY_CO_CHECK(fault_of());
  co_return disk_.commands->kill(id, signal, by);
}
Task<void> FakeLiveSandbox::resize(CommandId id, PtySize size) {
  CAY_CO_CHECK(fault_of());
  co_return disk_.commands->resize(id, size);
}
Task<Command> FakeLiveSandbox::command(CommandId id) {
  CAY_CO_CHECK(fault_of());
  co_return disk_.commands->get(id);
}
Task<std::vector<Command>> FakeLiveSandbox::commands() {
  CAY_CO_CHECK(fault_of());
  co_return disk_.commands->list();
}
Task<void> FakeLiveSandbox::forget(CommandId id) {
  CAY_CO_CHECK(fault_of());
  co_return disk_.commands->forget(id);
}

Task<FileInfo> FakeLiveSandbox::stat(std::string path, FileAs as, bool) {
  CAY_CO_CHECK(answers());
  co_return disk_.files->stat(path, as);
}
Task<FileStream> FakeLiveSandbox::read(std::string path, FileAs as, ReadRange range) {
  CAY_CO_CHECK(answers());
  co_return disk_.files->read(path, as, range);
}
Task<FileInfo> FakeLiveSandbox::write(std::string path, WriteOptions options,
                                      std::unique_ptr<ByteSource> data) {
  CAY_CO_CHECK(answers());
  auto written = co_await disk_.files->write(std::move(path), std::move(options), std::move(data));
  co_return written;
}
Task<std::vector<FileInfo>> FakeLiveSandbox::list(std::string path, FileAs as) {
  CAY_CO_CHECK(answers());
  co_return disk_.files->list(path, as);
}
Task<void> FakeLiveSandbox::make_directory(std::string path, FileAs as, std::uint32_t mode) {
  CAY_CO_CHECK(answers());
  co_return disk_.files->make_directory(path, as, mode);
}
Task<void> FakeLiveSandbox::remove(std::string path, FileAs as, bool recursive) {
  CAY_CO_CHECK(answers());
  co_return disk_.files->remove(path, as, recursive);
}
Task<void> FakeLiveSandbox::rename(std::string from, std::string to, FileAs as) {
  CAY_CO_CHECK(answers());
  co_return disk_.files->rename(from, to, as);
}
Task<GlobResult> FakeLiveSandbox::glob(std::string root, std::string pattern, FileAs as,
                                       std::uint32_t limit) {
  CAY_CO_CHECK(answers());
  co_return disk_.files->glob(root, pattern, as, limit);
}
Task<GrepResult> FakeLiveSandbox::grep(std::string root, std::string text, std::string file_glob,
                                       FileAs as, std::uint32_t limit) {
  CAY_CO_CHECK(answers());
  co_return disk_.files->grep(root, text, file_glob, as, limit);
}
Task<std::unique_ptr<TreeSource>> FakeLiveSandbox::read_tree(std::string path, FileAs as) {
  CAY_CO_CHECK(answers());
  co_return disk_.files->read_tree(path, as);
}
Task<void> FakeLiveSandbox::write_tree(std::string path, FileAs as,
                                       std::unique_ptr<TreeSource> tree) {
  CAY_CO_CHECK(answers());
  auto written = co_await disk_.files->write_tree(std::move(path), std::move(as), std::move(tree));
  co_return written;
}
Task<SandboxStats> FakeLiveSandbox::stats() {
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
Task<void> FakeLiveSandbox::pause() {
  CAY_CO_CHECK(answers());
  if (pause_error) co_return *pause_error;
  numbers.paused = true;
  co_return Result<void>();
}
Task<void> FakeLiveSandbox::resume() {
  CAY_CO_CHECK(answers());
  numbers.paused = false;
  co_return Result<void>();
}

}  // namespace cay::core::testing
