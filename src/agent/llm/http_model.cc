#include "agent/llm/http_model.h"

#include <algorithm>
#include <random>
#include <utility>

#include "agent/llm/answer_parser.h"
#include "agent/llm/outward_proxy.h"
#include "agent/llm/retry.h"
#include "async/bytes.h"
#include "async/deadline.h"
#include "async/event.h"
#include "codec/lenient.h"

namespace cay::agent {
namespace {

using Steady = std::chrono::steady_clock;

constexpr int kOk = 200;
constexpr int kRedirect = 300;
constexpr int kFirstRefusal = 400;  // and that of a request which is wrong
constexpr int kWrongContent = 422;
constexpr std::size_t kMostRefusal = 64 * 1024;  // bytes of an error's body
constexpr std::size_t kMostModels = 4u << 20;    // bytes of the list of models
constexpr std::size_t kShownModels = 10;
constexpr int kMostAdapted = 4;  // requests that leave a member out
constexpr Millis kConnect{10'000};
constexpr Millis kRefusalLimit{10'000};
constexpr Millis kEndLimit{200};  // for the end of a body whose answer is over

Error timed_out(const std::string& what, Millis limit) {
  return {Code::kDeadlineExceeded, "model_timeout",
          what + " within " + std::to_string(limit.count()) + " ms", 0};
}

// The client's error as one of a model.
Error unreachable(Error error) {
  if (error.code == Code::kInvalidArgument) return error;
  return {Code::kUnavailable, "model_unreachable", std::move(error.message), error.os_errno};
}

void hide(std::string& text, const std::string& secret) {
  if (secret.empty()) return;
  for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at))
    text.replace(at, secret.size(), "…");
}

}  // namespace

ModelHooks real_hooks() {
  return {.sleep = [](Millis time) { return sleep_for(time); },
          .random =
              [] {
                thread_local std::minstd_rand random{std::random_device{}()};
                return std::uniform_real_distribution<double>(0, 1)(random);
              },
          .now = [] { return system_clock().wall(); }};
}

HttpModel::HttpModel(std::unique_ptr<http::Client> client, Endpoint endpoint,
                     ModelSettings settings, std::unique_ptr<WireFormat> format, ModelHooks hooks)
    : client_(std::move(client)),
      endpoint_(std::move(endpoint)),
      settings_(std::move(settings)),
      format_(std::move(format)),
      hooks_(std::move(hooks)),
      name_(endpoint_.name()) {
  options_.model = endpoint_.model;
  options_.temperature = settings_.temperature;
  options_.max_tokens = settings_.max_tokens;
  options_.sees_images = settings_.profile.sees_images;
}

Result<std::unique_ptr<Model>> HttpModel::create(asio::any_io_executor executor, Endpoint endpoint,
                                                 ModelSettings settings, ModelHooks hooks) {
  http::ClientOptions options;
  options.url = endpoint.base_url;
  options.ca_file = settings.ca_file;
  options.connect_timeout = std::min(kConnect, settings.first_byte_timeout);
  options.proxy = outward_proxy(options.url, process_environment());
  CAY_TRY(auto client, http::Client::create(std::move(executor), std::move(options)));
  std::unique_ptr<WireFormat> format;
  switch (endpoint.vendor) {
    case Vendor::kOpenAi: format = chat_completions_format(); break;
    case Vendor::kOpenAiResponses: format = responses_format(); break;
    case Vendor::kAnthropic: format = anthropic_format(); break;
  }
  return std::unique_ptr<Model>(std::make_unique<HttpModel>(std::move(client), std::move(endpoint),
                                                            std::move(settings), std::move(format),
                                                            std::move(hooks)));
}

Task<ModelReply> HttpModel::complete(ModelRequest request, OnDelta on_delta) {
  Pieces pieces{std::move(on_delta)};
  Progress progress{Steady::now() + settings_.timeout};
  auto work = repeat(request, pieces, progress);
  auto got = co_await with_deadline<ModelReply>(std::move(work), settings_.timeout);
  if (got) co_return got;
  Error error = std::move(got).error();
  if (Steady::now() >= progress.deadline) {
    error = timed_out("no whole answer came", settings_.timeout);
    if (progress.last) error.message += ". Before that: " + progress.last->message;
  }
  co_return explained(std::move(error), progress.tries);
}

Task<ModelReply> HttpModel::repeat(const ModelRequest& request, Pieces& pieces,
                                   Progress& progress) {
  if (options_.model.empty()) {
    CAY_CO_CHECK(co_await find_model());
  }
  int adapted = 0;
  for (std::uint32_t retries = 0;;) {
    ++progress.tries;
    pieces.any = false;
    Try done = co_await attempt(request, pieces);
    if (done.reply) {
      done.reply->tries = progress.tries;
      co_return std::move(done.reply);
    }
    co_await throw_if_cancelled();  // a broken connection may be the caller's doing
    progress.last = done.reply.error();
    const bool repeats = done.at_once ? adapted++ < kMostAdapted
                                      : done.may_repeat && retries < settings_.max_retries;
    if (!repeats) co_return std::move(done.reply);
    if (!done.at_once) {
      const Millis pause = pause_before(++retries + 1, done.wanted, hooks_.random());
      if (Steady::now() + pause > progress.deadline) {
        Error error = std::move(done.reply).error();
        error.message += ". The next request may be sent in " + std::to_string(pause.count()) +
                         " ms, which is past the time limit";
        co_return error;
      }
      co_await hooks_.sleep(pause);
    }
    if (pieces.any && pieces.to) pieces.to(Delta{Delta::Kind::kRestarted, {}});
  }
}

http::ClientRequest HttpModel::request_to(std::string target) const {
  http::ClientRequest out;
  out.target = std::move(target);
  out.headers.add("User-Agent", "cay-agent");
  format_->add_headers(out.headers, endpoint_.key);
  return out;
}

asio::awaitable<HttpModel::Try> HttpModel::attempt(const ModelRequest& request, Pieces& pieces) {
  http::ClientRequest post = request_to(format_->target(endpoint_.base_url));
  post.method = "POST";
  post.headers.add("Content-Type", "application/json");
  post.headers.add("Accept", "text/event-stream, application/json");
  RequestOptions options = options_;
  post.body = codec::write(format_->request(request, options));
  const auto first_byte = Steady::now() + settings_.first_byte_timeout;
  auto sending = client_->send(std::move(post));
  auto answer = co_await with_deadline<http::ClientResponse>(std::move(sending),
                                                             settings_.first_byte_timeout);
  if (!answer) {
    Error error = std::move(answer).error();
    const bool late = Steady::now() >= first_byte;  // the client reports a broken connection then
    const bool untrusted = error.reason == "tls_untrusted";
    error = late ? timed_out("no answer began", settings_.first_byte_timeout)
                 : unreachable(std::move(error));
    const bool passes = is_passing(error) && !untrusted;
    co_return Try{.reply = std::move(error), .may_repeat = passes};
  }
  if (answer->status < kOk || answer->status >= kRedirect) {
    Try done = co_await refused(*std::move(answer), std::move(options));
    co_return done;
  }
  auto reply = co_await read(*std::move(answer), pieces, first_byte);
  const bool passes = !reply && is_passing(reply.error()) && !pieces.too_large;
  co_return Try{.reply = std::move(reply), .may_repeat = passes};
}

asio::awaitable<HttpModel::Try> HttpModel::refused(http::ClientResponse answer,
                                                   RequestOptions used) {
  auto reading = read_head(std::move(answer.body), kMostRefusal);
  auto body = co_await with_deadline<Head>(std::move(reading), kRefusalLimit);
  const VendorError refusal =
      vendor_error_of_body(answer.status, body ? std::string_view(body->bytes) : "");
  Try out{.reply = to_error(refusal)};
  Error& error = out.reply.error();
  if (answer.status < kFirstRefusal) {
    error.message = "the server redirects to " +
                    std::string(answer.headers.get("Location").value_or("another place")) +
                    ". Set the base URL to that";
    co_return out;
  }
  const bool may_adapt = answer.status == kFirstRefusal || answer.status == kWrongContent;
  if (may_adapt && error.reason != "context_overflow" && format_->adapt(used, refusal)) {
    options_ = std::move(used);
    out.at_once = true;
    co_return out;
  }
  out.may_repeat = is_passing(error) && should_retry(answer.headers).value_or(true);
  out.wanted = retry_after(answer.headers, hooks_.now());
  co_return out;
}

Task<ModelReply> HttpModel::read(http::ClientResponse answer, Pieces& pieces,
                                 Steady::time_point first_byte) {
  OnDelta on_delta = [&pieces](const Delta& delta) {
    pieces.any = true;
    if (pieces.to) pieces.to(delta);
  };
  AnswerParser parser(format_->reader(std::move(on_delta)));
  bool begun = false;
  for (;;) {
    const bool over = parser.is_over();
    const Millis limit = over    ? kEndLimit
                         : begun ? settings_.silence_timeout
                                 : left_until(first_byte);
    const auto deadline = Steady::now() + limit;
    auto reading = answer.body->next();
    auto piece = co_await with_deadline<Bytes>(std::move(reading), limit);
    if (!piece) {
      // The connection broke behind the message: nothing is lost but perhaps its usage.
      if (parser.is_whole()) break;
      if (Steady::now() < deadline)
        co_return Error{Code::kUnavailable, "model_cut", piece.error().message, 0};
      co_return begun ? timed_out("no further piece of the answer came", settings_.silence_timeout)
                      : timed_out("no answer began", settings_.first_byte_timeout);
    }
    if (piece->empty()) break;
    begun = true;
    if (over) continue;
    auto fed = parser.feed(*piece);
    pieces.too_large = parser.is_too_large();
    if (!fed) co_return std::move(fed).error();
  }
  co_return parser.finish();
}

// Local servers offer one model: its name need not be given.
Task<void> HttpModel::find_model() {
  const auto deadline = Steady::now() + settings_.first_byte_timeout;
  auto asking =
      client_->request(request_to(format_->models_target(endpoint_.base_url)), kMostModels);
  auto got =
      co_await with_deadline<http::Response>(std::move(asking), settings_.first_byte_timeout);
  if (!got) {
    if (Steady::now() >= deadline)
      co_return timed_out("no list of models came", settings_.first_byte_timeout);
    co_return unreachable(std::move(got).error());
  }
  if (got->status != kOk) co_return to_error(vendor_error_of_body(got->status, got->body));
  std::vector<std::string> names;
  if (const auto parsed = codec::parse_object(got->body)) {
    const auto* data = parsed->if_contains("data");
    if (data != nullptr && data->is_array()) {
      for (const auto& one : data->get_array()) {
        if (one.is_object()) names.push_back(codec::string_at(one.get_object(), "id"));
      }
    }
  }
  if (names.size() == 1 && !names.front().empty()) {
    options_.model = endpoint_.model = names.front();
    name_ = endpoint_.name();
    co_return Result<void>();
  }
  std::string listed;
  for (std::size_t i = 0; i < std::min(names.size(), kShownModels); ++i)
    listed += (listed.empty() ? ": " : ", ") + names[i];
  if (names.size() > kShownModels) listed += ", …";
  co_return Error{Code::kInvalidArgument, "model_unknown",
                  "no model is named, and the server lists " + std::to_string(names.size()) +
                      listed + ". Set " + variable_of(endpoint_.vendor, "MODEL"),
                  0};
}

Error HttpModel::explained(Error error, std::uint32_t tries) const {
  if (error.reason == "bad_url") return error;
  std::string message = name_ + " at " + endpoint_.base_url + ": " + error.message;
  if (tries > 1) message += " (" + std::to_string(tries) + " requests)";
  if (error.reason == "model_key_refused") {
    const std::string variable = variable_of(endpoint_.vendor, "API_KEY");
    message += endpoint_.key.empty() ? ". No key was sent: set " + variable
                                     : ". Check " + variable + ", and that it is this server's key";
  }
  if (error.reason == "model_unknown" && endpoint_.vendor != Vendor::kAnthropic &&
      !endpoint_.base_url.ends_with("/v1"))
    message += ". Many servers have their API below /v1 of the base URL";
  if (error.reason == "model_unreachable")
    message += ". Check " + variable_of(endpoint_.vendor, "BASE_URL");
  hide(message, endpoint_.key);
  error.message = std::move(message);
  return error;
}

}  // namespace cay::agent
