#include "api/gateway/downloads.h"

#include "api/common/download.h"
#include "async/until_set.h"
#include "core/verbs/links.h"
#include "http/client.h"
#include "http/forwarding_exchange.h"

namespace cay::api {
namespace {

std::string disposition_of(const LinkSpec& spec) {
  const std::string name = spec.path.substr(spec.path.rfind('/') + 1);
  // RFC 6266: the percent-encoded form holds any name, and cannot end the header.
  return std::string(spec.inline_shown ? "inline" : "attachment") + "; filename*=UTF-8''" +
         http::encode_segment(name);
}

// The rest of a body, until the link is withdrawn: then it fails, and breaks the client's
// connection.
class Withdrawable final : public ByteSource {
 public:
  Withdrawable(std::unique_ptr<ByteSource> inner, std::shared_ptr<core::LinkEnd> ended)
      : inner_(std::move(inner)), ended_(std::move(ended)) {}
  Task<Bytes> next() override { return until_set(inner_->next(), *ended_, ended_->why()); }

 private:
  std::unique_ptr<ByteSource> inner_;
  std::shared_ptr<core::LinkEnd> ended_;
};

// The exchange as serve_file sees it: the link's maker is the caller, and the answer shows no more
// than a link may.
class LinkExchange final : public http::ForwardingExchange {
 public:
  LinkExchange(ExchangePtr inner, core::OpenLink link)
      : ForwardingExchange(std::move(inner)), link_(std::move(link)) {
    who_.tenant = link_.link.tenant;
    who_.key_name = link_.link.created_by;
  }

  const Principal& principal() const override { return who_; }
  asio::awaitable<void> respond(http::Response response) override {
    response.headers = shown(response.headers);
    return ForwardingExchange::respond(std::move(response));
  }
  asio::awaitable<void> respond_stream(int status, http::Headers headers,
                                       std::optional<std::uint64_t> length,
                                       std::unique_ptr<ByteSource> bytes) override {
    auto cuttable = std::make_unique<Withdrawable>(std::move(bytes), link_.ended);
    return ForwardingExchange::respond_stream(status, shown(headers), length, std::move(cuttable));
  }

 private:
  http::Headers shown(const http::Headers& from) const {
    const LinkSpec& spec = link_.link.spec;
    http::Headers out;
    out.add("Content-Type",
            spec.content_type.empty() ? "application/octet-stream" : spec.content_type);
    out.add("Content-Disposition", disposition_of(spec));
    out.add("X-Content-Type-Options", "nosniff");
    out.add("Content-Security-Policy",
            "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:");
    out.add("Referrer-Policy", "no-referrer");
    out.add("Cache-Control", "private, no-cache");
    for (const std::string_view name :
         {"ETag", "Last-Modified", "Accept-Ranges", "Content-Range"}) {
      if (const auto value = from.get(name)) out.add(std::string(name), std::string(*value));
    }
    return out;
  }

  core::OpenLink link_;
  Principal who_;
};

}  // namespace

Task<void> serve_download(core::Cay& cay, ExchangePtr exchange, core::OpenLink link) {
  const LinkSpec& spec = link.link.spec;
  const FilePlace place{link.link.sandbox.get(), spec.path,
                        FileAs{.user = spec.user, .workdir = spec.workdir}};
  const bool only_head = exchange->head().method == "HEAD";
  ExchangePtr asked = std::make_shared<LinkExchange>(std::move(exchange), std::move(link));
  if (only_head) {
    auto told = co_await serve_head(cay, asked, place);
    co_return told;
  }
  const RangeError past_end = [](std::uint64_t) {
    http::Response response;
    response.status = 416;
    return response;
  };
  auto served = co_await serve_file(cay, asked, place, past_end);
  co_return served;
}

}  // namespace cay::api
