// KeptServices: connections to services that have answered and may carry another request. They are
// kept for a moment, each for the link that it was opened for.
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <memory>

#include "api/common/service_names.h"
#include "async/scope.h"
#include "core/cay.h"
#include "core/ports/tunnel.h"
#include "model/link.h"

namespace cay::api {

class KeptServices {
 public:
  static constexpr std::size_t kMost = 64;      // in all
  static constexpr std::size_t kMostOfOne = 8;  // of one service
  static constexpr Millis kIdle{
      1000};  // less than any server's own limit; and it keeps a sandbox awake
  static constexpr Millis kPatience{
      50};  // for a new connection's answer, before those kept are let go

  explicit KeptServices(asio::any_io_executor loop);

  // One that is whole, and silent. null: there is none.
  std::unique_ptr<core::Tunnel> take(const LinkId& link, const ServicePlace& place);
  void keep(const LinkId& link, const ServicePlace& place, std::unique_ptr<core::Tunnel> tunnel);

  // Called when a new connection to this service had no answer within kPatience. A server of one
  // connection at a time may wait for bytes on a kept one. The kept ones go, and none is kept for
  // as long as the result lives.
  std::shared_ptr<void> make_way(const ServicePlace& place);
  std::size_t size() const { return kept_.size(); }
  void end();

 private:
  using Name = std::pair<SandboxId, std::uint16_t>;
  using Clock = std::chrono::steady_clock;
  struct Kept {
    LinkId link;
    Name service;
    std::unique_ptr<core::Tunnel> tunnel;
    Clock::time_point until;
  };

  static Name name_of(const ServicePlace& place) { return {place.sandbox, place.port}; }
  void let_go(std::unique_ptr<core::Tunnel> tunnel);
  static asio::awaitable<void> part(std::unique_ptr<core::Tunnel> tunnel);
  asio::awaitable<void> sweep();

  asio::any_io_executor loop_;
  std::deque<Kept> kept_;  // the oldest first
  std::shared_ptr<std::map<Name, int>> waiting_ = std::make_shared<std::map<Name, int>>();
  bool sweeping_ = false, ended_ = false;
  Scope parting_;
};

}  // namespace cay::api
