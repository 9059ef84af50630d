// The routes by number, a tree that finds them, and the shapes of errors.
#include "http/router.h"

#include <algorithm>

#include "base/assert.h"
#include "http/text.h"

namespace cay::http {

namespace {

std::string_view default_reason(int status) {
  switch (status) {
    case 400: return "bad_request";
    case 401: return "unauthenticated";
    case 403: return "forbidden";
    case 404: return "no_such_route";
    case 405: return "method_not_allowed";
    case 408: return "request_timeout";
    case 413: return "body_too_large";
    case 429: return "too_many_requests";
    case 431: return "head_too_large";
    case 503: return "unavailable";
    default: return status >= 500 ? "internal" : "bad_request";
  }
}

std::string json_text(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (u < 0x20) {
      out += "\\u00";
      out += kHex[u >> 4];
      out += kHex[u & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

// The shape of last resort; facades bring their own.
Response default_shape(int status, const Error& error) {
  const std::string reason =
      error.reason.empty() ? std::string(default_reason(status)) : error.reason;
  return json_response(status, "{\"error\":{\"code\":" + json_text(reason) +
                                   ",\"message\":" + json_text(error.message) + "}}");
}

}  // namespace

void Router::add(std::string method, std::string pattern, Handler handler, Right right) {
  add(std::move(method), std::move(pattern), std::move(handler), Auth::kKey);
  routes_.back().right = right;
}

void Router::add(std::string method, std::string pattern, Handler handler, Auth auth) {
  CAY_ASSERT(!pattern.empty() && pattern.front() == '/');
  tree_.add(method, pattern, routes_.size());
  routes_.push_back({std::move(method), std::move(pattern), auth, std::move(handler)});
}

void Router::each(const std::function<void(Route&)>& change) {
  for (Route& route : routes_) change(route);
}

void Router::fall_back(std::function<bool(const RequestHead&)> takes, Handler handler,
                       Right right) {
  takes_ = std::move(takes);
  fallback_.handler = std::move(handler);
  fallback_.right = right;
}

void Router::shape_errors(std::string prefix, ErrorShape shape) {
  shapes_.emplace_back(std::move(prefix), std::move(shape));
}

Router::Match Router::match(const RequestHead& head) const {
  auto found = tree_.find(head.method, head.segments);
  Match match;
  match.params = std::move(found.parameters);
  if (found.route) match.route = &routes_[*found.route];
  std::sort(found.of_other_methods.begin(), found.of_other_methods.end());
  for (const std::size_t other : found.of_other_methods) {
    const std::string& method = routes_[other].method;
    if (std::find(match.allowed.begin(), match.allowed.end(), method) == match.allowed.end()) {
      match.allowed.push_back(method);
    }
  }
  if (match.route == nullptr && match.allowed.empty() && takes_ && takes_(head)) {
    match.route = &fallback_;
  }
  return match;
}

Response Router::shape(const RequestHead& head, int status, const Error& error) const {
  const ErrorShape* best = nullptr;
  std::size_t longest = 0;
  const std::string_view target = head.target;
  auto path = target.substr(0, std::min(target.find('?'), target.size()));
  if (!path.starts_with('/')) path = "/";  // not HTTP at all, or no path: the shape of everything
  for (const auto& [prefix, shape] : shapes_) {
    if (path.starts_with(prefix) && (best == nullptr || prefix.size() >= longest)) {
      best = &shape;
      longest = prefix.size();
    }
  }
  return best != nullptr ? (*best)(head, status, error) : default_shape(status, error);
}

}  // namespace cay::http
