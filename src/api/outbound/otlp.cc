#include "api/outbound/otlp.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "async/deadline.h"

namespace cay::api {

namespace json = codec::json;

namespace {

constexpr const char* kDropped = "cay_trace_spans_dropped_total";
constexpr const char* kDroppedHelp =
    "Spans dropped: the collector refused them, or did not take them in time.";
constexpr int kFirstSuccess = 200;
constexpr int kPastSuccess = 300;
constexpr int kFirstRefusal = 400, kPastRefusal = 500;
constexpr int kTimeout = 408,
              kTooMany = 429;  // OTLP has senders repeat these, and what is not the sender's fault
constexpr int kInternal = 1, kServer = 2;  // SpanKind
constexpr int kStatusError = 2;            // Status.code

json::object attribute(const std::string& key, const std::string& value) {
  return {{"key", key}, {"value", json::object{{"stringValue", codec::text(value)}}}};
}

// 64-bit numbers are strings in OTLP's JSON.
std::string nanos(UnixMillis at) { return std::to_string(at) + "000000"; }

json::object span_json(const Span& span) {
  json::array attributes;
  for (const auto& [key, value] : span.attributes) attributes.emplace_back(attribute(key, value));
  json::object out{{"traceId", span.trace.trace_id},
                   {"spanId", span.trace.span_id},
                   {"name", codec::text(span.name)},
                   {"kind", span.server ? kServer : kInternal},
                   {"startTimeUnixNano", nanos(span.begin)},
                   {"endTimeUnixNano", nanos(std::max(span.begin, span.end))},
                   {"attributes", std::move(attributes)}};
  if (!span.parent_id.empty()) out["parentSpanId"] = span.parent_id;
  if (!span.error.empty())
    out["status"] = json::object{{"code", kStatusError}, {"message", codec::text(span.error)}};
  return out;
}

}  // namespace

json::object otlp_request(const std::deque<Span>& spans, std::size_t count,
                          const std::string& version) {
  json::array list;
  for (std::size_t i = 0; i < count; ++i) list.emplace_back(span_json(spans[i]));
  json::array resource{attribute("service.name", "cay"), attribute("service.version", version)};
  json::object scope{{"scope", json::object{{"name", "cay"}, {"version", version}}},
                     {"spans", std::move(list)}};
  json::object of_resource{{"resource", json::object{{"attributes", std::move(resource)}}}};
  json::array scopes;
  scopes.emplace_back(std::move(scope));
  of_resource["scopeSpans"] = std::move(scopes);
  json::array resources;
  resources.emplace_back(std::move(of_resource));
  return {{"resourceSpans", std::move(resources)}};
}

Result<std::unique_ptr<OtlpExporter>> OtlpExporter::create(asio::any_io_executor loop,
                                                           OtlpConfig config, Metrics& metrics) {
  while (config.endpoint.ends_with('/')) config.endpoint.pop_back();
  http::ClientOptions options;
  options.url = config.endpoint;
  options.ca_file = config.ca_file;
  options.connect_timeout = config.answer_limit;
  auto client = http::Client::create(loop, std::move(options));
  if (!client) return std::move(client).error().while_doing("[tracing] otlp_endpoint");
  return std::unique_ptr<OtlpExporter>(
      new OtlpExporter(std::move(loop), std::move(config), metrics, *std::move(client)));
}

void OtlpExporter::add(Span span) {
  if (queue_.size() >= config_.queue) {
    metrics_.count(kDropped, kDroppedHelp);
    return;
  }
  queue_.push_back(std::move(span));
  if (queue_.size() >= config_.batch) filled_.set();
}

Task<void> OtlpExporter::send(std::string body) {
  http::ClientRequest request;
  request.method = "POST";
  request.target = "/v1/traces";
  request.headers.add("Content-Type", "application/json");
  request.body = std::move(body);
  CAY_CO_TRY(const auto answer, co_await client_->send(std::move(request)));
  if (answer.status >= kFirstSuccess && answer.status < kPastSuccess) co_return Result<void>();
  const bool for_good = answer.status >= kFirstRefusal && answer.status < kPastRefusal &&
                        answer.status != kTimeout && answer.status != kTooMany;
  if (for_good)
    co_return Error{Code::kInvalidArgument, "collector_refused",
                    "the collector answered " + std::to_string(answer.status), 0};
  co_return Error{Code::kUnavailable, "collector_refused",
                  "the collector answered " + std::to_string(answer.status), 0};
}

void OtlpExporter::drop(std::size_t count) {
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
}

asio::awaitable<bool> OtlpExporter::send_batch() {
  const std::size_t count = std::min(queue_.size(), config_.batch);
  if (count == 0) co_return true;
  auto sending = send(codec::write(otlp_request(queue_, count, config_.version)));
  auto sent =
      co_await with_deadline(std::move(sending), config_.answer_limit, "the trace collector");
  if (!sent && sent.error().reason == "collector_refused" &&
      sent.error().code == Code::kInvalidArgument) {
    // It will never take these: what comes after them must not wait behind them for ever.
    drop(count);
    if (!refused_) spdlog::warn("traces: {}: its spans are dropped", sent.error().message);
    refused_ = true;
    metrics_.count(kDropped, kDroppedHelp, {}, count);
    co_return true;
  }
  if (!sent) {
    spdlog::debug("traces: {}", sent.error().message);
    co_return false;
  }
  refused_ = false;
  drop(count);
  metrics_.count("cay_trace_spans_sent_total", "Spans that the collector took.", {}, count);
  co_return true;
}

asio::awaitable<void> OtlpExporter::run() {
  Millis pause = config_.flush_every;
  for (;;) {
    // A full queue is sent at once, unless the collector has just failed.
    if (pause == config_.flush_every) {
      auto full = co_await filled_.wait_for(pause);
      static_cast<void>(full);
    } else {
      co_await sleep_for(pause);
    }
    filled_.reset();
    const bool sent = co_await send_batch();
    if (!sent) {
      pause = std::min(pause * 2, config_.longest_pause);
      continue;
    }
    pause = config_.flush_every;
    if (queue_.size() >= config_.batch) filled_.set();
  }
}

asio::awaitable<void> OtlpExporter::flush(Millis limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  bool sent = true;
  while (sent && !queue_.empty() && std::chrono::steady_clock::now() < deadline) {
    sent = co_await send_batch();
  }
}

}  // namespace cay::api
