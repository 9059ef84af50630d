#include <exception>
#include <utility>

#include "client/api.h"
#include "client/read_ahead.h"
#include "client/sync_state.h"
#include "client/tar_pack.h"
#include "client/tar_unpack.h"

namespace cay::sdk {

namespace api = cay::client;

namespace {

// A caller's producer as a stream. It runs on the client's thread; what it throws is kept for the
// caller's own.
class Produced : public ByteSource {
 public:
  Produced(ByteProducer produce, std::exception_ptr& thrown)
      : produce_(std::move(produce)), thrown_(thrown) {}
  Task<Bytes> next() override {
    try {
      co_return produce_();
    } catch (...) {
      thrown_ = std::current_exception();
    }
    co_return Error{Code::kCancelled, "producer_failed", "the producer of the bytes threw", 0};
  }

 private:
  ByteProducer produce_;
  std::exception_ptr& thrown_;
};

void drain(api::ReadAhead& from, const ByteSink& sink) {
  while (true) {
    auto piece = api::value_or_raise(from.next());
    if (piece.empty()) return;
    sink(piece);
  }
}

}  // namespace

void Sandbox::read_file(const std::string& path, const ByteSink& sink,
                        const std::string& user) const {
  auto source = client_->wait(api::read_file(client_->connection, at(), path, user));
  api::ReadAhead from(client_->loop, std::move(source));
  drain(from, sink);
}

std::string Sandbox::read_file(const std::string& path, const std::string& user) const {
  std::string out;
  read_file(path, [&out](const std::string& piece) { out += piece; }, user);
  return out;
}

FileInfo Sandbox::write_file(const std::string& path, std::string bytes, std::uint32_t mode,
                             const std::string& user) const {
  return client_->wait(
      api::write_file(client_->connection, at(), path, mode, user, source_of(std::move(bytes))));
}

FileInfo Sandbox::write_file(const std::string& path, ByteProducer producer, std::uint32_t mode,
                             const std::string& user) const {
  std::exception_ptr thrown;
  auto source = std::make_unique<Produced>(std::move(producer), thrown);
  auto got = client_->loop.wait(
      api::write_file(client_->connection, at(), path, mode, user, std::move(source)));
  if (thrown) std::rethrow_exception(thrown);
  return api::value_or_raise(std::move(got));
}

FileInfo Sandbox::stat(const std::string& path, const std::string& user) const {
  return client_->wait(api::stat(client_->connection, at(), path, user));
}
std::vector<FileInfo> Sandbox::list(const std::string& path, const std::string& user) const {
  return client_->wait(api::list_directory(client_->connection, at(), path, user));
}
void Sandbox::make_directory(const std::string& path, const std::string& user) const {
  client_->wait(api::make_directory(client_->connection, at(), path, user));
}
void Sandbox::remove_path(const std::string& path, bool recursive, const std::string& user) const {
  client_->wait(api::remove_path(client_->connection, at(), path, recursive, user));
}
void Sandbox::rename(const std::string& from, const std::string& to,
                     const std::string& user) const {
  client_->wait(api::rename(client_->connection, at(), from, to, user));
}
std::vector<FileInfo> Sandbox::glob(const std::string& root, const std::string& pattern) const {
  return client_->wait(api::glob(client_->connection, at(), root, pattern));
}
std::vector<GrepMatch> Sandbox::grep(const std::string& root, const std::string& text,
                                     const std::string& glob) const {
  return client_->wait(api::grep(client_->connection, at(), root, text, glob));
}

CopyReport Sandbox::read_tree(const std::string& path, const ByteSink& sink,
                              const std::string& user) const {
  auto source = client_->wait(api::read_tree(client_->connection, at(), path, user));
  api::ReadAhead from(client_->loop, std::move(source));
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

void Sandbox::write_tree(const std::string& path, ByteProducer producer,
                         const std::string& user) const {
  std::exception_ptr thrown;
  auto source = std::make_unique<Produced>(std::move(producer), thrown);
  auto got =
      client_->loop.wait(api::write_tree(client_->connection, at(), path, user, std::move(source)));
  if (thrown) std::rethrow_exception(thrown);
  api::value_or_raise(std::move(got));
}

CopyReport Sandbox::copy_in(const std::string& local, const std::string& path,
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

CopyReport Sandbox::copy_out(const std::string& path, const std::string& local,
                             const CopyOptions& options) const {
  auto source = client_->wait(api::read_tree(client_->connection, at(), path, options.user));
  api::ReadAhead from(client_->loop, std::move(source));
  api::UnpackOptions unpack;
  unpack.links = options.keep_links ? api::Links::kAll : api::Links::kInsideOnly;
  unpack.max_bytes = options.max_bytes;
  unpack.progress = options.progress;
  auto pull = [&from] { return from.next(); };
  return api::value_or_raise(api::unpack_tar(local, pull, unpack));
}

}  // namespace cay::sdk
