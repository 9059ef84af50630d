// ForwardingExchange: passes every call on to another exchange. Derived classes override what they
// change.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "http/exchange.h"

namespace cay::http {

class ForwardingExchange : public Exchange {
 public:
  explicit ForwardingExchange(std::shared_ptr<Exchange> inner) : inner_(std::move(inner)) {}

  const RequestHead& head() const override { return inner_->head(); }
  const Principal& principal() const override { return inner_->principal(); }
  const std::map<std::string, std::string>& params() const override { return inner_->params(); }
  Task<std::string> read_body(std::size_t limit) override { return inner_->read_body(limit); }
  std::unique_ptr<ByteSource> body() override { return inner_->body(); }
  asio::awaitable<void> respond(Response response) override {
    return inner_->respond(std::move(response));
  }
  asio::awaitable<void> respond_stream(int status, Headers headers,
                                       std::optional<std::uint64_t> length,
                                       std::unique_ptr<ByteSource> bytes) override {
    return inner_->respond_stream(status, std::move(headers), length, std::move(bytes));
  }
  void choose_protocol(std::string name) override { inner_->choose_protocol(std::move(name)); }
  Task<std::unique_ptr<WebSocket>> upgrade(std::size_t max_message) override {
    return inner_->upgrade(max_message);
  }
  Task<std::unique_ptr<ByteStream>> upgrade_raw(Headers headers) override {
    return inner_->upgrade_raw(std::move(headers));
  }
  Result<void> let_in(Caller caller) override { return inner_->let_in(std::move(caller)); }
  asio::awaitable<bool> break_off(std::string why) override {
    return inner_->break_off(std::move(why));
  }
  void note_subject(std::string what) override { inner_->note_subject(std::move(what)); }
  std::string how_it_ended() const override { return inner_->how_it_ended(); }
  void note_end(std::string how) override { inner_->note_end(std::move(how)); }

 private:
  std::shared_ptr<Exchange> inner_;
};

}  // namespace cay::http
