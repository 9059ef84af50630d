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

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> out;
  while (!path.empty()) {
    path.remove_prefix(path.front() == '/' ? 1 : 0);
    const auto end = std::min(path.find('/'), path.size());
    if (end > 0) out.emplace_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return out;
}

// A head that was refused before its target was split has no segments.
std::vector<std::string> segments_as_written(const RequestHead& head) {
  const std::string_view path = std::string_view(head.target).substr(0, head.target.find('?'));
  return path.starts_with('/') ? segments_of(path) : std::vector<std::string>();
}

bool begins_with(const std::vector<std::string>& path, const std::vector<std::string>& prefix) {
  return prefix.size() <= path.size() && std::equal(prefix.begin(), prefix.end(), path.begin());
}

}  // namespace

void Router::declare(Facade facade) {
  for (const auto& prefix : facade.prefixes)
    prefixes_.push_back({segments_of(prefix), facades_.size()});
  facades_.push_back(std::move(facade));
}

void Router::add(std::string method, std::string pattern, Handler handler, Right right) {
  add(std::move(method), std::move(pattern), std::move(handler), Auth::kKey);
  routes_.back().right = right;
}

bool Router::lists_without_key(const std::string& method, const std::string& pattern) const {
  const std::string route = method + " " + pattern;
  return std::any_of(facades_.begin(), facades_.end(), [&route](const Facade& facade) {
    const auto& listed = facade.without_key;
    return std::find(listed.begin(), listed.end(), route) != listed.end();
  });
}

void Router::add(std::string method, std::string pattern, Handler handler, Auth auth) {
  CAY_ASSERT(!pattern.empty() && pattern.front() == '/');
  CAY_ASSERT(auth == Auth::kKey || lists_without_key(method, pattern));
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

void Router::divert(std::function<bool(const RequestHead&)> takes,
                    std::shared_ptr<const Router> table) {
  diversions_.push_back({std::move(takes), std::move(table)});
}

const Router& Router::table_of(const RequestHead& head) const {
  for (const auto& [takes, table] : diversions_) {
    if (takes(head)) return table->table_of(head);
  }
  return *this;
}

Router::Match Router::match(const RequestHead& head) const {
  if (const Router& table = table_of(head); &table != this) return table.match(head);
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

const Facade& Router::facade_of(const RequestHead& head) const {
  if (const Router& table = table_of(head); &table != this) return table.facade_of(head);
  const auto written =
      head.segments.empty() ? segments_as_written(head) : std::vector<std::string>();
  const auto& path = head.segments.empty() ? written : head.segments;
  const Prefix* best = nullptr;
  for (const Prefix& prefix : prefixes_) {
    if (best != nullptr && prefix.segments.size() < best->segments.size()) continue;
    if (begins_with(path, prefix.segments)) best = &prefix;
  }
  return best == nullptr ? undeclared_ : facades_[best->facade];
}

Response Router::shape(const RequestHead& head, int status, const Error& error) const {
  const Facade& facade = facade_of(head);
  return facade.refusal ? facade.refusal(head, status, error) : default_shape(status, error);
}

}  // namespace cay::http
