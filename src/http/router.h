// Router: finds the handler and the facade of a request. Facades declare themselves and add routes.
// The server looks them up.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/exchange.h"
#include "http/facade.h"
#include "http/route_tree.h"
#include "model/principal.h"

namespace cay::http {

// kNone: for everybody, such as /healthz. kOwn: the handler checks a token of its own. Such a
// target may contain one, so that it is not logged. Both need an entry in Facade::without_key.
enum class Auth { kKey, kNone, kOwn };

struct Route {
  std::string method;  // "GET"; "*" any. HEAD is routed as itself.
  std::string
      pattern;  // "/v2/sandboxes/boxes/{name}/status"; a last "{rest...}" takes what remains
  Auth auth = Auth::kKey;
  Handler handler;
  Right right = Right::kManage;  // what a key needs; a route that names none needs much
  // Its handler acts for a caller whose scope allows that, though `right` lets readers in, too.
  bool acts_by_scope = false;
};

class Router {
 public:
  // Declares a facade, before its routes are added.
  void declare(Facade facade);
  void add(std::string method, std::string pattern, Handler handler, Right right = Right::kManage);
  // A route without an API key. Asserts that a facade lists it in `without_key`.
  void add(std::string method, std::string pattern, Handler handler, Auth auth);
  // Calls `change` for every route so far. It may wrap the handler. Method and pattern stay.
  void each(const std::function<void(Route&)>& change);
  // The handler for paths that no route has, whatever the method, if `takes` returns true.
  void fall_back(std::function<bool(const RequestHead&)> takes, Handler handler,
                 Right right = Right::kManage);
  // Diverts requests whose headers `takes` accepts to the routes and facades of `table`, before
  // their path is looked at. Such a request never falls back to the routes here. The first
  // diversion that accepts a request wins.
  void divert(std::function<bool(const RequestHead&)> takes, std::shared_ptr<const Router> table);

  struct Match {
    const Route* route = nullptr;
    std::map<std::string, std::string> params;
    std::vector<std::string> allowed;  // other methods of this path, for 405
  };
  // RouteTree states which route wins. route == nullptr: 404, or 405 if `allowed` is not empty.
  Match match(const RequestHead& head) const;
  // Returns the facade that the request belongs to, or one that declares nothing.
  const Facade& facade_of(const RequestHead& head) const;
  // Writes the error as the facade of the request does.
  Response shape(const RequestHead& head, int status, const Error& error) const;
  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
  RouteTree tree_;  // of indices into routes_
  struct Diversion {
    std::function<bool(const RequestHead&)> takes;
    std::shared_ptr<const Router> table;
  };
  // Returns the router whose routes serve the request: this one, or that of a diversion.
  const Router& table_of(const RequestHead& head) const;
  bool lists_without_key(const std::string& method, const std::string& pattern) const;

  struct Prefix {
    std::vector<std::string> segments;
    std::size_t facade = 0;  // in facades_
  };
  std::vector<Facade> facades_;
  std::vector<Prefix> prefixes_;  // of all facades
  Facade undeclared_;             // of requests that no facade has
  std::vector<Diversion> diversions_;
  std::function<bool(const RequestHead&)> takes_;
  Route fallback_{"*", "{unmatched}", Auth::kKey, nullptr};
};

}  // namespace cay::http
