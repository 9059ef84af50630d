// OTLP: spans to a collector, by OTLP/HTTP in JSON (opentelemetry.io/docs/specs/otlp). They go in
// batches, from a bounded queue. While the collector is away, spans wait until the queue is full,
// and then the newest are dropped and counted. Tracing never holds up what it traces.
#pragma once
#include <deque>
#include <memory>
#include <string>

#include "async/event.h"
#include "base/metrics.h"
#include "codec/json.h"
#include "http/client.h"
#include "model/trace.h"

namespace cay::api {

struct OtlpConfig {
  std::string endpoint;  // "http://127.0.0.1:4318"; /v1/traces is put behind
  std::string ca_file;   // https: trust the authorities in it alone; empty: the system's
  std::string version;   // of this program
  Millis flush_every{1'000};
  Millis answer_limit{10'000};
  Millis longest_pause{30'000};
  std::size_t batch = 512;
  std::size_t queue = 4096;
};

class OtlpExporter {
 public:
  // kInvalidArgument (bad_url).
  static Result<std::unique_ptr<OtlpExporter>> create(asio::any_io_executor loop, OtlpConfig config,
                                                      Metrics& metrics);

  void add(Span span);
  // Sends until it is cancelled.
  asio::awaitable<void> run();
  // Sends the rest, once, within `limit`: for the daemon's end.
  asio::awaitable<void> flush(Millis limit);

 private:
  OtlpExporter(asio::any_io_executor loop, OtlpConfig config, Metrics& metrics,
               std::unique_ptr<http::Client> client)
      : config_(std::move(config)),
        metrics_(metrics),
        client_(std::move(client)),
        filled_(std::move(loop)) {}
  Task<void> send(std::string body);
  asio::awaitable<bool> send_batch();
  void drop(std::size_t count);

  OtlpConfig config_;
  Metrics& metrics_;
  std::unique_ptr<http::Client> client_;
  std::deque<Span> queue_;
  cay::Event filled_;
  bool refused_ = false;  // the last ones, for good
};

// {"resourceSpans": …}: one request's body.
codec::json::object otlp_request(const std::deque<Span>& spans, std::size_t count,
                                 const std::string& version);

}  // namespace cay::api
