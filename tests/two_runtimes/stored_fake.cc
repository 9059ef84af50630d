#include "stored_fake.h"

#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace cay::two_runtimes {
namespace {

namespace fs = std::filesystem;
using core::testing::FakeProgram;

constexpr const char* kAlive = "alive";  // an empty file of a sandbox that lives
constexpr const char* kFiles = "files";

FakeProgram echo(const CommandSpec& spec) {
  FakeProgram program;
  const std::string last = spec.argv.empty() ? "" : spec.argv.back();
  program.output.push_back({Stream::kStdout, "fake: " + last + "\n"});
  program.end = core::testing::exited(0);
  return program;
}

void write_file(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

StoredFake::StoredFake(asio::any_io_executor loop, fs::path directory)
    : FakeRuntime(std::move(loop)), directory_(std::move(directory)) {
  default_snapshot.id = SnapshotId("00000000-0000-4000-8000-00000000fa4e");
  can.tunnels.missing = "the runtime 'memory' opens no connections into its sandboxes";
  program = echo;
  fs::create_directories(directory_);
  for (const auto& entry : fs::directory_iterator(directory_))
    take_up(SandboxId(entry.path().filename().string()));
}

void StoredFake::take_up(const SandboxId& id) {
  core::testing::FakeDisk& disk = disk_of(id);
  const fs::path files = home_of(id) / kFiles;
  if (fs::exists(files)) {
    for (const auto& entry : fs::recursive_directory_iterator(files)) {
      if (entry.is_regular_file())
        disk.files->put("/" + entry.path().lexically_relative(files).string(),
                        read_file(entry.path()));
    }
  }
  disk.commands->program = program;
  if (fs::exists(home_of(id) / kAlive)) put_alive(id);
}

Task<std::shared_ptr<core::LiveSandbox>> StoredFake::boot(core::BootSpec spec) {
  const SandboxId id = spec.id;
  auto live = co_await FakeRuntime::boot(std::move(spec));
  if (live) write_file(home_of(id) / kAlive, "");
  co_return live;
}

Task<void> StoredFake::stop(SandboxId id) {
  auto stopped = co_await FakeRuntime::stop(id);
  if (stopped) fs::remove(home_of(id) / kAlive);
  co_return stopped;
}

Task<void> StoredFake::destroy(SandboxId id) {
  auto destroyed = co_await FakeRuntime::destroy(id);
  if (destroyed) fs::remove_all(home_of(id));
  co_return destroyed;
}

void StoredFake::part() {
  for (const auto& [id, disk] : disks) keep_files(id);
}

void StoredFake::keep_files(const SandboxId& id) const {
  const fs::path files = home_of(id) / kFiles;
  fs::remove_all(files);
  for (const auto& [path, node] : disks.at(id).files->tree) {
    if (node.info.kind == FileKind::kFile) write_file(files / path.substr(1), node.bytes);
  }
}

}  // namespace cay::two_runtimes
