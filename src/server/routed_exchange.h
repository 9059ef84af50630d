// RoutedExchange: the exchange as its handler sees it, with the caller and the route's parameters.
// It notes the request's course, and gives each answer the request's id.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "http/forwarding_exchange.h"
#include "server/request_course.h"

namespace cay::server {

class RoutedExchange final : public http::ForwardingExchange {
 public:
  using RateCheck = std::function<Result<void>(const http::Caller&)>;
  // Returns the answer that replaces a refusal of a stranger who had too many. A stranger is a
  // caller that neither a key nor a link has let in.
  using Instead = std::function<std::optional<http::Response>(const http::Response&)>;

  // `seen`: the head as its sender has it, where a proxy stands in between.
  RoutedExchange(std::shared_ptr<http::Exchange> inner, std::string request_id,
                 std::optional<http::RequestHead> seen, RateCheck rate_check)
      : ForwardingExchange(std::move(inner)),
        request_id_(std::move(request_id)),
        seen_(std::move(seen)),
        rate_check_(std::move(rate_check)) {}

  // By its key: what it is refused from here on is no stranger's.
  void know() { known_ = true; }
  void set_caller(Principal principal, std::map<std::string, std::string> params) {
    principal_ = std::move(principal);
    params_ = std::move(params);
  }
  void on_refusal(Instead instead) { instead_ = std::move(instead); }
  // From here on the handler may act for the caller that was let in. Its work counts as done, even
  // if the daemon is killed in between.
  void let_act();
  // If the handler was cancelled during an upgrade, the client may have its answer already.
  void conclude();
  RequestCourse& course() { return course_; }

  const http::RequestHead& head() const override {
    return seen_ ? *seen_ : ForwardingExchange::head();
  }
  const Principal& principal() const override { return principal_; }
  const std::map<std::string, std::string>& params() const override { return params_; }
  Result<void> let_in(http::Caller caller) override;
  asio::awaitable<bool> break_off(std::string why) override;
  asio::awaitable<void> respond(http::Response response) override;
  asio::awaitable<void> respond_stream(int status, http::Headers headers,
                                       std::optional<std::uint64_t> length,
                                       std::unique_ptr<ByteSource> bytes) override;
  // A refused upgrade leaves the answer to the handler.
  Task<std::unique_ptr<http::WebSocket>> upgrade(std::size_t max_message) override;
  Task<std::unique_ptr<ByteStream>> upgrade_raw(http::Headers headers) override;
  void note_subject(std::string what) override { course_.note_subject(std::move(what)); }
  std::string how_it_ended() const override {
    return course_.end().empty() ? ForwardingExchange::how_it_ended() : course_.end();
  }
  void note_end(std::string how) override { course_.note_end(std::move(how)); }

 private:
  void sign(http::Headers& headers) const;

  std::string request_id_;
  std::optional<http::RequestHead> seen_;
  Principal principal_;
  std::map<std::string, std::string> params_;
  RateCheck rate_check_;
  Instead instead_;
  bool known_ = false;  // a key or a link let it in
  bool upgrading_ = false;
  RequestCourse course_;
};

}  // namespace cay::server
