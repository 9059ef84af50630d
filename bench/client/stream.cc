#include <boost/json/serialize.hpp>
#include <variant>

#include "codec/json.h"
#include "methods.h"
#include "samples.h"

namespace cay::bench {
namespace {

// A program that writes `bytes` zeros.
std::vector<std::string> writer_of(std::uint64_t bytes) {
  constexpr std::uint64_t kBlock = 256 * 1024;
  return {"/bin/dd", "if=/dev/zero", "bs=" + std::to_string(kBlock),
          "count=" + std::to_string(bytes / kBlock), "status=none"};
}

json::object report_of(const Samples& samples, std::uint64_t bytes) {
  auto out = samples.report();
  out["bytes"] = bytes;
  return out;
}

Awaitable<void> read_native(Session& at, const std::string& sandbox, std::uint64_t bytes) {
  const auto box = at.cay.sandbox(sandbox);
  auto argv = writer_of(bytes);
  auto command = co_await box.spawn(std::move(argv));
  std::uint64_t got = 0;
  while (true) {
    const auto event = co_await command.next();
    if (const auto* output = std::get_if<sdk::Output>(&event)) got += output->bytes.size();
    if (std::holds_alternative<sdk::Gap>(event)) throw Failed{"bytes of the output are missing"};
    if (std::holds_alternative<sdk::End>(event)) break;
  }
  if (got != bytes) throw Failed{"the output had " + std::to_string(got) + " bytes"};
}

// The bytes of output in one frame. The escape of a zero is six characters.
std::uint64_t output_in(const std::string& frame, bool& ended) {
  const auto parsed = codec::parse_object(frame);
  if (!parsed) throw Failed{"no JSON in a frame"};
  const auto type = parsed->at("type").as_string();
  if (type == "error") throw Failed{frame};
  ended = type == "exit";
  return type == "stdout" ? parsed->at("data").as_string().size() : 0;
}

Awaitable<void> read_langsmith(http::Client& client, const std::string& sandbox,
                               std::uint64_t bytes) {
  auto opened =
      co_await client.websocket("/v2/sandboxes/dp/" + sandbox + "/execute/ws", http::Headers());
  if (!opened) throw Failed{opened.error().message};
  if (!opened->socket) throw Failed{opened->refusal.body};
  const json::object request{
      {"type", "execute"},
      {"command", "yes abcdefghijklmnopqrstuvwxyz0123456789 | head -c " + std::to_string(bytes)},
      {"shell", "/bin/bash"},
      {"timeout_seconds", 300}};
  auto text = json::serialize(request);
  const auto sent = co_await opened->socket->send_text(std::move(text));
  if (!sent) throw Failed{sent.error().message};
  std::uint64_t got = 0;
  for (bool ended = false; !ended;) {
    const auto message = co_await opened->socket->read();
    if (message.kind == http::WsMessage::Kind::kClosed) throw Failed{"closed: " + message.data};
    got += output_in(message.data, ended);
  }
  co_await opened->socket->close(1000, "");
  if (got != bytes) throw Failed{"the output had " + std::to_string(got) + " bytes"};
}

}  // namespace

// Settings: "sandbox" (its id), "bytes", "count".
Awaitable<json::object> stream(Session& at) {
  const auto bytes = at.number("bytes", 64u << 20), count = at.number("count", 3);
  const auto sandbox = at.text("sandbox", "");
  Samples samples;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto begin = now();
    co_await read_native(at, sandbox, bytes);
    samples.add(microseconds_since(begin));
  }
  co_return report_of(samples, bytes);
}

Awaitable<json::object> stream_langsmith(Session& at) {
  const auto bytes = at.number("bytes", 64u << 20), count = at.number("count", 3);
  const auto sandbox = at.text("sandbox", "");
  const auto client = at.http();
  Samples samples;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto begin = now();
    co_await read_langsmith(*client, sandbox, bytes);
    samples.add(microseconds_since(begin));
  }
  co_return report_of(samples, bytes);
}

}  // namespace cay::bench
