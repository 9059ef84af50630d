#include <algorithm>

#include "methods.h"
#include "samples.h"

namespace cay::bench {
namespace {

constexpr std::size_t kBlock = 256 * 1024;
constexpr int kSuccessLimit = 300;

// So many bytes from memory.
class Blocks : public ByteSource {
 public:
  explicit Blocks(std::uint64_t bytes) : left_(bytes) {}
  Task<Bytes> next() override {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, kBlock));
    left_ -= size;
    co_return Bytes(size, 'x');
  }

 private:
  std::uint64_t left_;
};

std::string target_of(Session& at) {
  return sandbox_path(at.text("sandbox", ""), "/files?path=" + at.text("path", "/root/bench-file"));
}

Awaitable<void> send(http::Client& client, std::string target, std::uint64_t bytes) {
  http::ClientRequest request;
  request.method = "PUT";
  request.target = std::move(target);
  request.stream = std::make_unique<Blocks>(bytes);
  request.stream_length = bytes;
  auto answer = co_await client.request(std::move(request));
  if (!answer) throw Failed{answer.error().message};
  if (answer->status >= kSuccessLimit) throw Failed{answer->body};
}

Awaitable<void> receive(http::Client& client, std::string target, std::uint64_t bytes) {
  http::ClientRequest request;
  request.target = std::move(target);
  auto answer = co_await client.send(std::move(request));
  if (!answer) throw Failed{answer.error().message};
  if (answer->status >= kSuccessLimit) throw Failed{"the daemon refused to send the file"};
  std::uint64_t got = 0;
  while (true) {
    auto block = co_await answer->body->next();
    if (!block) throw Failed{block.error().message};
    if (block->empty()) break;
    got += block->size();
  }
  if (got != bytes) throw Failed{"the file has " + std::to_string(got) + " bytes"};
}

using Direction = Awaitable<void> (*)(http::Client&, std::string, std::uint64_t);

// Settings: "sandbox" (its id), "path", "bytes", "count", "warm".
Awaitable<json::object> transfer(Session& at, Direction direction) {
  const auto bytes = at.number("bytes", 1024);
  const auto count = at.number("count", 20), warm = at.number("warm", 1);
  const auto client = at.http();
  Samples samples;
  for (std::uint64_t i = 0; i < count + warm; ++i) {
    const auto begin = now();
    co_await direction(*client, target_of(at), bytes);
    if (i >= warm) samples.add(microseconds_since(begin));
  }
  auto out = samples.report();
  out["bytes"] = bytes;
  co_return out;
}

}  // namespace

Awaitable<json::object> upload(Session& at) { return transfer(at, send); }
Awaitable<json::object> download(Session& at) { return transfer(at, receive); }

}  // namespace cay::bench
