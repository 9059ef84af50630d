#include "image/registry.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "async/deadline.h"
#include "base/ip_address.h"
#include "codec/base64.h"
#include "codec/json.h"
#include "image/json_fields.h"
#include "image/retry_after.h"

namespace cay::image {
namespace {

constexpr int kMostRedirects = 5;
constexpr int kMostTries = 5;
constexpr int kMostLogins = 2;
constexpr Millis kAnswerLimit{60'000};
constexpr Millis kPieceLimit{60'000};
constexpr Millis kConnectLimit{10'000};
constexpr Millis kProxyLimit{30'000};  // names that only the proxy knows take as long to fail
constexpr std::int64_t kMostWaitSeconds = 60;
constexpr std::size_t kMostToken = 64 * 1024;
enum Status {
  kOk = 200,
  kCreated = 201,
  kTaken = 202,
  kPartial = 206,
  kRedirects = 300,
  kSeeOther = 303,
  kUnauthorized = 401,
  kForbidden = 403,
  kMissing = 404,
  kBadRange = 416,
  kTooMany = 429,
  kServerFaults = 500
};

bool is_loopback(const IpAddress& address) {
  static const Network v4 = *Network::parse("127.0.0.0/8");
  static const Network v6 = *Network::parse("::1/128");
  return v4.contains(address) || v6.contains(address);
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == kSeeOther || status == 307 || status == 308;
}

std::string header_of(const http::ClientResponse& answer, std::string_view name) {
  return std::string(answer.headers.get(name).value_or(""));
}

// Reads at most `most` bytes of a body; what fails or is longer is left out.
Task<std::string> some_of(http::ClientResponse& answer, std::size_t most) {
  std::string all;
  while (answer.body && all.size() < most) {
    auto reading = answer.body->next();
    CAY_CO_TRY(const std::string piece,
               co_await with_deadline(std::move(reading), kPieceLimit, "the registry's answer"));
    if (piece.empty()) co_return all;
    all += piece;
  }
  co_return all;
}

// Reads a body that has to be whole.
Task<std::string> body_of(http::ClientResponse& answer, std::size_t most) {
  CAY_CO_TRY(std::string all, co_await some_of(answer, most + 1));
  if (all.size() > most) {
    co_return Error{Code::kInvalidArgument, "bad_image",
                    "the registry sent more than " + std::to_string(most) + " bytes", 0};
  }
  co_return std::move(all);
}

Error unreachable(const std::string& host, const Error& why) {
  if (why.reason == "special_network") {
    return {Code::kPermissionDenied, "special_network",
            why.message +
                ". A registry there has to be allowed by the operator, and a redirect "
                "never leads there",
            0};
  }
  return {Code::kUnavailable, "registry_unreachable",
          "the registry " + host + " cannot be reached: " + why.message, 0};
}

// A file as the body of a request.
class FileSource final : public ByteSource {
 public:
  explicit FileSource(int file) : pull_(bytes_of(file)) {}
  Task<Bytes> next() override { co_return pull_(); }

 private:
  archive::TarPull pull_;
};

}  // namespace

Registry::Registry(asio::any_io_executor loop, RegistryAccess access, core::Told told)
    : loop_(std::move(loop)), access_(std::move(access)), told_(std::move(told)) {
  base_ = parse_url("https://" + access_.reference.host() + "/").value_or(Url{});
  repository_ = access_.reference.repository;
  if (!access_.mirror) return;
  base_ = *access_.mirror;
  std::string path = std::exchange(base_.target, "/");
  while (path.ends_with('/')) path.pop_back();
  if (!path.empty()) repository_ = path.substr(1) + "/" + repository_;
}

std::string Registry::where() const {
  const std::string& registry = access_.reference.registry;
  return access_.mirror ? "the mirror " + base_.origin() + " of " + registry : registry;
}

Url Registry::at(const std::string& path) const {
  Url out = base_;
  out.target = "/v2/" + repository_ + "/" + path;
  return out;
}

bool Registry::is_own(const Url& url) const {
  return url.host == base_.host && url.port == base_.port;
}

Result<http::Client*> Registry::client_of(const Url& url) {
  const std::string origin = url.origin();
  if (const auto found = clients_.find(origin); found != clients_.end()) return found->second.get();
  http::ClientOptions options;
  options.url = origin;
  options.more_ca_file = access_.more_ca_file;
  options.connect_timeout = access_.proxy.host.empty() ? kConnectLimit : kProxyLimit;
  options.response_timeout = kAnswerLimit;
  options.proxy = access_.proxy;
  const bool is_mirror = access_.mirror && is_own(url);
  const bool may_be_special = access_.special_network && url.host == base_.host;
  if (is_mirror) {
    options.may_dial = [](const IpAddress& address) { return !is_metadata(address); };
  } else if (!url.secure) {
    if (!may_be_special) {
      return Error{Code::kPermissionDenied, "registry_denied",
                   "the registry leads to " + origin + ", which is not encrypted", 0};
    }
    options.may_dial = is_loopback;
  } else if (may_be_special) {
    options.may_dial = [](const IpAddress& address) { return !is_metadata(address); };
  } else {
    options.may_dial = [](const IpAddress& address) { return !is_special(address); };
  }
  CAY_TRY(auto client, http::Client::create(loop_, std::move(options)));
  return clients_.emplace(origin, std::move(client)).first->second.get();
}

Task<http::ClientResponse> Registry::send(const Ask& ask, bool with_login) {
  CAY_CO_TRY(http::Client * client, client_of(ask.url));
  http::ClientRequest request;
  request.method = ask.method;
  request.target = ask.url.target;
  request.headers.add("User-Agent", "cay");
  if (!ask.accept.empty()) request.headers.add("Accept", ask.accept);
  if (!ask.range.empty()) request.headers.add("Range", ask.range);
  if (!ask.type.empty()) request.headers.add("Content-Type", ask.type);
  if (with_login && !authorization_.empty()) request.headers.add("Authorization", authorization_);
  request.body = ask.body;
  if (ask.file >= 0) {
    request.stream = std::make_unique<FileSource>(ask.file);
    request.stream_length = ask.length;
  }
  auto answer = co_await client->send(std::move(request));
  if (!answer && answer.error().code != Code::kPermissionDenied &&
      answer.error().code != Code::kUnavailable && answer.error().code != Code::kDeadlineExceeded)
    co_return std::move(answer).error();
  if (!answer) {
    Error error = unreachable(ask.url.authority(), answer.error());
    error.os_errno = answer.error().os_errno;
    co_return error;
  }
  co_return answer;
}

Task<http::ClientResponse> Registry::follow(Ask ask) {
  for (int redirects = 0;; ++redirects) {
    const bool own = is_own(ask.url);
    auto answer = co_await send(ask, own);
    if (!answer || !is_redirect(answer->status)) co_return answer;
    if (ask.method != "GET" && ask.method != "HEAD") co_return answer;
    if (redirects == kMostRedirects) {
      co_return Error{Code::kUnavailable, "registry_unreachable",
                      "the registry redirects more than 5 times", 0};
    }
    const auto next = resolve(ask.url, header_of(*answer, "Location"));
    if (!next) {
      co_return Error{Code::kUnavailable, "registry_unreachable",
                      "the registry redirects to what is no http address", 0};
    }
    ask.url = *next;
  }
}

Error Registry::refusal(int status, const std::string& what) const {
  if (status == kMissing) {
    return {Code::kNotFound, "image_not_found",
            where() + " has no " + what + ": look at the name and the tag", 0};
  }
  if (status == kUnauthorized || status == kForbidden) {
    return {Code::kPermissionDenied, "registry_denied",
            where() + " does not give out " + what +
                (access_.login.username.empty() && access_.login.identity_token.empty()
                     ? " without a login, or does not have it"
                     : ": the login has no right to it, or it does not exist"),
            0};
  }
  if (status == kTooMany) {
    return {Code::kUnavailable, "registry_unreachable",
            where() + " limits how much is pulled (status 429): log in, or retry " +
                (busy_seconds_ > 0 ? "in " + std::to_string(busy_seconds_) + " s" : "later"),
            0};
  }
  return {
      Code::kUnavailable, "registry_unreachable",
      where() + " answered with status " + std::to_string(status) + " to the request for " + what,
      0};
}

Task<http::ClientResponse> Registry::ask(Ask ask, std::string what) {
  int logins = 0;
  for (int tries = 1;; ++tries) {
    auto answer = co_await follow(ask);
    if (!answer) co_return std::move(answer).error();
    const int status = answer->status;
    if (status == kUnauthorized && logins < kMostLogins) {
      ++logins;
      const Challenge challenge = parse_challenge(header_of(*answer, "WWW-Authenticate"));
      answer->body.reset();
      CAY_CO_CHECK(co_await authorize(challenge));
      continue;
    }
    const bool is_busy = status == kTooMany || (status > kServerFaults && status < 505);
    if (!is_busy) co_return answer;
    busy_seconds_ = seconds_until(header_of(*answer, "Retry-After"), std::time(nullptr));
    const std::int64_t seconds = busy_seconds_ > 0 ? busy_seconds_ : std::int64_t{1} << (tries - 1);
    if (seconds > kMostWaitSeconds || tries >= kMostTries) co_return answer;
    answer->body.reset();
    told_(where() + " is busy: the next try is in " + std::to_string(seconds) + " s");
    co_await sleep_for(std::chrono::seconds(seconds));
  }
}

Task<void> Registry::authorize(Challenge challenge) {
  if (challenge.scheme == Challenge::Scheme::kBearer) {
    auto taken = co_await take_token(std::move(challenge));
    co_return taken;
  }
  if (challenge.scheme != Challenge::Scheme::kBasic || access_.login.username.empty())
    co_return refusal(kUnauthorized, access_.reference.name());
  authorization_ = "Basic " + codec::base64(access_.login.username + ":" + access_.login.password);
  co_return Result<void>();
}

Task<void> Registry::take_token(Challenge challenge) {
  const auto realm = parse_url(challenge.realm);
  if (!realm || (!realm->secure && realm->host != base_.host)) {
    co_return Error{Code::kPermissionDenied, "registry_denied",
                    "the registry sends logins to '" + challenge.realm.substr(0, 200) +
                        "', which is no https address",
                    0};
  }
  if (challenge.scope.empty()) challenge.scope = "repository:" + repository_ + ":" + access_.rights;
  Ask ask;
  ask.url = *realm;
  std::string form = "service=" + http::encode_segment(challenge.service) +
                     "&scope=" + http::encode_segment(challenge.scope);
  const core::RegistryLogin& login = access_.login;
  const std::string before = std::exchange(authorization_, "");
  if (!login.identity_token.empty()) {
    ask.method = "POST";
    ask.type = "application/x-www-form-urlencoded";
    ask.body = form + "&grant_type=refresh_token&client_id=cay&refresh_token=" +
               http::encode_segment(login.identity_token);
  } else {
    ask.url.target += (ask.url.target.find('?') == std::string::npos ? "?" : "&") + form;
    if (!login.username.empty())
      authorization_ = "Basic " + codec::base64(login.username + ":" + login.password);
  }
  auto answer = co_await send(ask, true);
  authorization_ = before;
  if (!answer) co_return std::move(answer).error();
  if (answer->status != kOk) co_return refusal(answer->status, "a token for this image");
  CAY_CO_TRY(const std::string body, co_await body_of(*answer, kMostToken));
  const auto parsed = codec::parse_object(body);
  std::string token = parsed ? string_in(*parsed, "token") : std::string();
  if (token.empty() && parsed) token = string_in(*parsed, "access_token");
  const bool is_plain =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (token.empty() || !is_plain) {
    co_return Error{Code::kPermissionDenied, "registry_denied",
                    "the registry's token service sent no token", 0};
  }
  authorization_ = "Bearer " + token;
  co_return Result<void>();
}

// A registry on loopback needs no TLS, so plain HTTP is tried there when TLS fails.
Task<void> Registry::open() {
  Ask ping;
  ping.url = base_;
  ping.url.target = "/v2/";
  if (access_.mirror) {
    auto there = co_await send(ping, false);
    if (!there) co_return std::move(there).error();
    co_return Result<void>();
  }
  CAY_CO_TRY(http::Client * secure, client_of(ping.url));
  http::ClientRequest hello;
  hello.target = "/v2/";
  auto answer = co_await secure->send(std::move(hello));
  const bool has_no_tls = !answer && (answer.error().reason == "tls_failed" ||
                                      answer.error().reason == "connection_lost");
  if (has_no_tls && access_.special_network) {
    const Url by_tls = base_;
    const auto plain = parse_url("http://" + access_.reference.host() + "/");
    base_ = plain.value_or(by_tls);
    // The port that the name has goes for both.
    auto again = ping;
    again.url = base_;
    again.url.target = "/v2/";
    auto by_http = co_await send(again, false);
    if (by_http) co_return Result<void>();
    base_ = by_tls;
  }
  if (!answer) co_return unreachable(base_.authority(), answer.error());
  co_return Result<void>();
}

Task<std::string> Registry::manifest(std::string version) {
  Ask request;
  request.url = at("manifests/" + version);
  request.accept = std::string(kAccepted);
  auto answer = co_await ask(std::move(request), access_.reference.name() + " " + version);
  if (!answer) co_return std::move(answer).error();
  if (answer->status != kOk)
    co_return refusal(answer->status, access_.reference.name() + " " + version);
  CAY_CO_TRY(std::string body, co_await body_of(*answer, kMostManifestBytes));
  if (is_digest(version) && digest_of(body) != version) {
    co_return Error{Code::kInvalidArgument, "digest_mismatch",
                    "the registry sent another manifest than " + version, 0};
  }
  co_return std::move(body);
}

Task<std::string> Registry::small_blob(Descriptor blob) {
  Ask request;
  request.url = at("blobs/" + blob.digest);
  auto answer = co_await ask(std::move(request), "blob " + blob.digest);
  if (!answer) co_return std::move(answer).error();
  if (answer->status != kOk) co_return refusal(answer->status, "blob " + blob.digest);
  CAY_CO_TRY(std::string body, co_await body_of(*answer, kMostManifestBytes));
  if (digest_of(body) != blob.digest) {
    co_return Error{Code::kInvalidArgument, "digest_mismatch",
                    "the registry sent another configuration than " + blob.digest, 0};
  }
  co_return std::move(body);
}

Task<void> Registry::fetch(Descriptor blob, const BlobStore& store,
                           std::function<void(std::uint64_t)> got) {
  CAY_CO_TRY(BlobPart part, co_await store.begin(blob.digest, blob.size));
  if (!part.file) {
    got(blob.size);
    co_return Result<void>();
  }
  got(part.size);
  for (int tries = 0; part.size < blob.size;) {
    const std::uint64_t before = part.size;
    auto done = co_await fetch_rest(blob, store, part, got);
    if (part.size > before) tries = 0;
    if (!done && (done.error().code != Code::kUnavailable || ++tries >= kMostTries))
      co_return std::move(done).error();
    if (!done) {
      co_await sleep_for(Millis(100 << tries));
    }
  }
  co_return store.finish(std::move(part), blob.digest);
}

Task<void> Registry::fetch_rest(Descriptor blob, const BlobStore& store, BlobPart& part,
                                std::function<void(std::uint64_t)> got) {
  Ask request;
  request.url = at("blobs/" + blob.digest);
  if (part.size > 0) request.range = "bytes=" + std::to_string(part.size) + "-";
  auto answer = co_await ask(std::move(request), "blob " + blob.digest);
  if (!answer) co_return std::move(answer).error();
  const std::string range = header_of(*answer, "Content-Range");
  const bool continues =
      answer->status == kPartial && range.starts_with("bytes " + std::to_string(part.size) + "-");
  if (answer->status == kBadRange || (answer->status == kPartial && !continues) ||
      (answer->status == kOk && part.size > 0)) {
    CAY_CO_TRY(part, store.begin_again(blob.digest));
    if (answer->status != kOk) {
      co_return Error{Code::kUnavailable, "registry_unreachable",
                      "the registry does not continue a blob", 0};
    }
  } else if (answer->status != kOk && !continues) {
    co_return refusal(answer->status, "blob " + blob.digest);
  }
  for (;;) {
    auto reading = answer->body->next();
    auto piece = co_await with_deadline(std::move(reading), kPieceLimit, "a piece of the blob");
    if (!piece) co_return unreachable(base_.authority(), piece.error());
    if (piece->empty()) break;
    if (piece->size() > blob.size - part.size) {
      co_return Error{Code::kInvalidArgument, "digest_mismatch",
                      "the registry sends more of blob " + blob.digest + " than its manifest names",
                      0};
    }
    CAY_CO_CHECK(store.add(part, *piece));
    got(piece->size());
  }
  if (part.size < blob.size) {
    co_return Error{Code::kUnavailable, "registry_unreachable",
                    "the registry sent less of blob " + blob.digest + " than its manifest names",
                    0};
  }
  co_return Result<void>();
}

Task<void> Registry::upload(std::string digest, int file, std::uint64_t size) {
  Ask look;
  look.method = "HEAD";
  look.url = at("blobs/" + digest);
  auto there = co_await ask(std::move(look), "blob " + digest);
  if (!there) co_return std::move(there).error();
  if (there->status == kOk) co_return Result<void>();
  there->body.reset();
  Ask begin;
  begin.method = "POST";
  begin.url = at("blobs/uploads/");
  auto begun = co_await ask(std::move(begin), "an upload");
  if (!begun) co_return std::move(begun).error();
  if (begun->status != kTaken) co_return refusal(begun->status, "an upload");
  const auto location = resolve(base_, header_of(*begun, "Location"));
  if (!location || !is_own(*location)) {
    co_return Error{Code::kUnavailable, "registry_unreachable",
                    "the registry takes uploads at another host, which is not supported", 0};
  }
  begun->body.reset();
  Ask put;
  put.method = "PUT";
  put.url = *location;
  put.url.target += (put.url.target.find('?') == std::string::npos ? "?digest=" : "&digest=") +
                    http::encode_segment(digest);
  put.type = "application/octet-stream";
  put.file = file;
  put.length = size;
  auto done = co_await ask(std::move(put), "an upload");
  if (!done) co_return std::move(done).error();
  if (done->status != kCreated) co_return refusal(done->status, "an upload");
  co_return Result<void>();
}

Task<void> Registry::put_manifest(std::string version, std::string bytes) {
  Ask put;
  put.method = "PUT";
  put.url = at("manifests/" + version);
  put.type = "application/vnd.oci.image.manifest.v1+json";
  put.body = std::move(bytes);
  auto done = co_await ask(std::move(put), "a manifest");
  if (!done) co_return std::move(done).error();
  if (done->status != kCreated) co_return refusal(done->status, "a manifest");
  co_return Result<void>();
}

}  // namespace cay::image
