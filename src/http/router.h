// Router: method + path pattern -> handler. Facades add routes; the server looks them up.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/exchange.h"
#include "http/route_tree.h"
#include "model/principal.h"

namespace cay::http {

// kNone is only for /healthz and the like. kOwn: the handler checks a token of its own. Such a
// target may contain one, so that it is not logged.
enum class Auth { kKey, kNone, kOwn };

struct Route {
  std::string method;  // "GET"; "*" any. HEAD is routed as itself.
  std::string
      pattern;  // "/v2/sandboxes/boxes/{name}/status"; a last "{rest...}" takes what remains
  Auth auth = Auth::kKey;
  Handler handler;
  Right right = Right::kManage;  // what a key needs; a route that names none needs much
};

// How a facade shapes errors that arise before its handler (401, 404, 405, 413, 500): by prefix.
using ErrorShape = std::function<Response(const RequestHead&, int status, const Error&)>;

class Router {
 public:
  void add(std::string method, std::string pattern, Handler handler, Right right = Right::kManage);
  void add(std::string method, std::string pattern, Handler handler, Auth auth);
  // Calls `change` for every route so far. It may wrap the handler. Method and pattern stay.
  void each(const std::function<void(Route&)>& change);
  // The handler for paths that no route has, whatever the method, if `takes` returns true.
  void fall_back(std::function<bool(const RequestHead&)> takes, Handler handler,
                 Right right = Right::kManage);
  // Errors of requests whose path starts with `prefix` are shaped by it (longest prefix wins).
  void shape_errors(std::string prefix, ErrorShape shape);

  struct Match {
    const Route* route = nullptr;
    std::map<std::string, std::string> params;
    std::vector<std::string> allowed;  // other methods of this path, for 405
  };
  // RouteTree states which route wins. route == nullptr: 404, or 405 if `allowed` is not empty.
  Match match(const RequestHead& head) const;
  Response shape(const RequestHead& head, int status, const Error& error) const;
  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
  RouteTree tree_;  // of indices into routes_
  std::vector<std::pair<std::string, ErrorShape>> shapes_;
  std::function<bool(const RequestHead&)> takes_;
  Route fallback_{"*", "{unmatched}", Auth::kKey, nullptr};
};

}  // namespace cay::http
