#include "api/daytona/plane.h"

#include <utility>

namespace cay::api::daytona {
namespace {

// The path of a request is in its errors, so each request has a shape of its own.
Shape shape_for(Plane plane, const ExchangePtr& exchange) {
  return [plane, exchange](const Error& error, const std::string&) {
    return refused(exchange->head(), plane, error);
  };
}

}  // namespace

http::Handler PlaneRoutes::plain(Plain verb) const {
  core::Cay& cay = cay_;
  const Plane plane = plane_;
  return [&cay, plane, verb = std::move(verb)](ExchangePtr exchange) {
    const Verb bound = [&cay, verb](ExchangePtr asked) { return verb(cay, std::move(asked)); };
    return answering(cay, bound, shape_for(plane, exchange))(exchange);
  };
}

http::Handler PlaneRoutes::stream(Stream verb) const {
  core::Cay& cay = cay_;
  const Plane plane = plane_;
  return [&cay, plane, verb = std::move(verb)](ExchangePtr exchange) {
    const StreamVerb bound = [&cay, verb](ExchangePtr asked) {
      return verb(cay, std::move(asked));
    };
    return streaming(bound, shape_for(plane, exchange))(exchange);
  };
}

void PlaneRoutes::add(const std::string& method, const std::string& path, Plain verb, Right right) {
  router_.add(method, prefix_ + path, plain(std::move(verb)), right);
}

void PlaneRoutes::add_stream(const std::string& method, const std::string& path, Stream verb,
                             Right right) {
  router_.add(method, prefix_ + path, stream(std::move(verb)), right);
}

void PlaneRoutes::add(const std::string& method, const std::string& path, Plain verb,
                      http::Auth auth) {
  router_.add(method, prefix_ + path, plain(std::move(verb)), auth);
}

void PlaneRoutes::add_stream(const std::string& method, const std::string& path, Stream verb,
                             http::Auth auth) {
  router_.add(method, prefix_ + path, stream(std::move(verb)), auth);
}

}  // namespace cay::api::daytona
