#include <exception>
#include <utility>

#include "client/api.h"
#include "client/produced.h"
#include "client/read_ahead.h"
#include "client/sync_state.h"
#include "client/tar_pack.h"
#include "client/tar_unpack.h"

namespace cay::sdk {

namespace api = cay::client;

namespace {

void drain(api::ReadAhead& from, const ByteSink& sink) {
  while (true) {
    auto piece = api::value_or_raise(from.next());
    if (piece.empty()) return;
    sink(piece);
  }
}

}  // namespace

void SandboxFiles::read_file(const std::string& path, const ByteSink& sink,
                             const std::string& user) const {
  auto source =
      state_->client->wait(api::read_file(state_->client->connection, state_->at(), path, user));
  api::ReadAhead from(state_->client->loop, std::move(source));
  drain(from, sink);
}

std::string SandboxFiles::read_file(const std::string& path, const std::string& user) const {
  std::string out;
  read_file(path, [&out](const std::string& piece) { out += piece; }, user);
  return out;
}

FileInfo SandboxFiles::write_file(const std::string& path, std::string bytes, std::uint32_t mode,
                                  const std::string& user) const {
  return state_->client->wait(api::write_file(state_->client->connection, state_->at(), path, mode,
                                              user, source_of(std::move(bytes))));
}

FileInfo SandboxFiles::write_file(const std::string& path, ByteProducer producer,
                                  std::uint32_t mode, const std::string& user) const {
  std::exception_ptr thrown;
  auto source = std::make_unique<api::Produced>(std::move(producer), thrown);
  auto got = state_->client->loop.wait(api::write_file(state_->client->connection, state_->at(),
                                                       path, mode, user, std::move(source)));
  if (thrown) std::rethrow_exception(thrown);
  return api::value_or_raise(std::move(got));
}

FileInfo SandboxFiles::stat(const std::string& path, const std::string& user) const {
  return state_->client->wait(api::stat(state_->client->connection, state_->at(), path, user));
}
std::vector<FileInfo> SandboxFiles::list(const std::string& path, const std::string& user) const {
  return state_->client->wait(
      api::list_directory(state_->client->connection, state_->at(), path, user));
}
void SandboxFiles::make_directory(const std::string& path, const std::string& user) const {
  state_->client->wait(api::make_directory(state_->client->connection, state_->at(), path, user));
}
void SandboxFiles::remove_path(const std::string& path, bool recursive,
                               const std::string& user) const {
  state_->client->wait(
      api::remove_path(state_->client->connection, state_->at(), path, recursive, user));
}
void SandboxFiles::rename(const std::string& from, const std::string& to,
                          const std::string& user) const {
  state_->client->wait(api::rename(state_->client->connection, state_->at(), from, to, user));
}
std::vector<FileInfo> SandboxFiles::glob(const std::string& root,
                                         const std::string& pattern) const {
  return state_->client->wait(api::glob(state_->client->connection, state_->at(), root, pattern));
}
std::vector<GrepMatch> SandboxFiles::grep(const std::string& root, const std::string& text,
                                          const std::string& glob) const {
  return state_->client->wait(
      api::grep(state_->client->connection, state_->at(), root, text, glob));
}

CopyReport SandboxFiles::read_tree(const std::string& path, const ByteSink& sink,
                                   const std::string& user) const {
  auto source =
      state_->client->wait(api::read_tree(state_->client->connection, state_->at(), path, user));
  api::ReadAhead from(state_->client->loop, std::move(source));
  std::exception_ptr thrown;
  const auto passed_on = [&]() -> Result<std::string> {
    auto piece = from.next();
    if (!piece || piece->empty()) return piece;
    try {
      sink(*piece);
      return piece;
    } catch (...) {
      thrown = std::current_exception();
    }
    return Error{Code::kCancelled, "sink_failed", "the taker of the bytes threw", 0};
  };
  auto report = api::look_through_tar(passed_on);
  if (thrown) std::rethrow_exception(thrown);
  return api::value_or_raise(std::move(report));
}

void SandboxFiles::write_tree(const std::string& path, ByteProducer producer,
                              const std::string& user) const {
  std::exception_ptr thrown;
  auto source = std::make_unique<api::Produced>(std::move(producer), thrown);
  auto got = state_->client->loop.wait(
      api::write_tree(state_->client->connection, state_->at(), path, user, std::move(source)));
  if (thrown) std::rethrow_exception(thrown);
  api::value_or_raise(std::move(got));
}

CopyReport SandboxFiles::copy_in(const std::string& local, const std::string& path,
                                 const CopyOptions& options) const {
  auto packer = api::value_or_raise(api::TarPacker::open(local));
  auto produce = [&packer, &options] {
    auto piece = api::value_or_raise(packer->next());
    if (options.progress) options.progress(packer->report().moved);
    return piece;
  };
  write_tree(path, produce, options.user);
  return packer->report();
}

CopyReport SandboxFiles::copy_out(const std::string& path, const std::string& local,
                                  const CopyOptions& options) const {
  auto source = state_->client->wait(
      api::read_tree(state_->client->connection, state_->at(), path, options.user));
  api::ReadAhead from(state_->client->loop, std::move(source));
  api::UnpackOptions unpack;
  unpack.links = options.keep_links ? api::Links::kAll : api::Links::kInsideOnly;
  unpack.max_bytes = options.max_bytes;
  unpack.progress = options.progress;
  auto pull = [&from] { return from.next(); };
  return api::value_or_raise(api::unpack_tar(local, pull, unpack));
}

}  // namespace cay::sdk
