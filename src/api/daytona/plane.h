// PlaneRoutes adds the routes of one plane, whose errors have its shape.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "api/common/answer.h"
#include "api/daytona/errors.h"
#include "http/router.h"

namespace cay::api::daytona {

class PlaneRoutes {
 public:
  // A use case that ends in one answer, and one that answers by itself (streams, WebSockets).
  using Plain = std::function<Task<http::Response>(core::Cay&, ExchangePtr)>;
  using Stream = std::function<Task<void>(core::Cay&, ExchangePtr)>;

  // References outlive the router.
  PlaneRoutes(http::Router& router, core::Cay& cay, Plane plane, std::string prefix)
      : router_(router), cay_(cay), plane_(plane), prefix_(std::move(prefix)) {}

  void add(const std::string& method, const std::string& path, Plain verb, Right right);
  void add_stream(const std::string& method, const std::string& path, Stream verb, Right right);
  // Routes without an API key, which the facade declares: for everybody, or with a token that the
  // verb checks.
  void add(const std::string& method, const std::string& path, Plain verb, http::Auth auth);
  void add_stream(const std::string& method, const std::string& path, Stream verb, http::Auth auth);

  core::Cay& cay() const { return cay_; }
  http::Router& router() const { return router_; }

 private:
  http::Handler plain(Plain verb) const;
  http::Handler stream(Stream verb) const;

  http::Router& router_;
  core::Cay& cay_;
  const Plane plane_;
  const std::string prefix_;
};

}  // namespace cay::api::daytona
