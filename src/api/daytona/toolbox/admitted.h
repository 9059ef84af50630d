// A request with other rights than those of a key: what its URL proved.
#pragma once
#include <utility>

#include "api/common/answer.h"
#include "http/forwarding_exchange.h"

namespace cay::api::daytona {

class Admitted final : public http::ForwardingExchange {
 public:
  Admitted(ExchangePtr inner, Principal who)
      : ForwardingExchange(std::move(inner)), who_(std::move(who)) {}
  const Principal& principal() const override { return who_; }

 private:
  const Principal who_;
};

}  // namespace cay::api::daytona
