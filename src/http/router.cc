// Router: routes are compared segment by segment; few hundred routes, so a scan is fast enough.
#include "http/router.h"

#include <algorithm>

#include "base/assert.h"
#include "http/target.h"
#include "http/text.h"

namespace cay::http {

namespace {

bool is_parameter(std::string_view part) { return part.size() > 2 && part.front() == '{' && part.back() == '}'; }
bool is_rest(std::string_view part) { return is_parameter(part) && part.size() > 5 && part.ends_with("...}"); }

std::vector<std::string_view> split_pattern(std::string_view pattern) {
  std::vector<std::string_view> parts;
  pattern.remove_prefix(1);
  while (!pattern.empty()) {
    const auto end = std::min(pattern.find('/'), pattern.size());
    parts.push_back(pattern.substr(0, end));
    if (end == pattern.size()) break;
    pattern.remove_prefix(end + 1);
    if (pattern.empty()) parts.emplace_back();
  }
  return parts;
}

// One character per segment, so that comparing texts ranks routes: literal < parameter < rest.
std::optional<std::string> match_pattern(std::string_view pattern, const std::vector<std::string>& segments,
                                         std::map<std::string, std::string>& params) {
  const auto parts = split_pattern(pattern);
  std::string rank;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto part = parts[i];
    if (is_rest(part)) {
      std::string rest;
      for (std::size_t j = i; j < segments.size(); ++j) rest += (j > i ? "/" : "") + segments[j];
      params[std::string(part.substr(1, part.size() - 5))] = std::move(rest);
      return rank + 'c';
    }
    if (i >= segments.size()) return std::nullopt;
    if (is_parameter(part)) {
      if (segments[i].empty()) return std::nullopt;  // "/boxes/" is not a box without a name
      params[std::string(part.substr(1, part.size() - 2))] = segments[i];
      rank += 'b';
    } else if (part == segments[i]) {
      rank += 'a';
    } else {
      return std::nullopt;
    }
  }
  if (parts.size() != segments.size()) return std::nullopt;
  return rank;
}

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
  const std::string reason = error.reason.empty() ? std::string(default_reason(status)) : error.reason;
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
  routes_.push_back({std::move(method), std::move(pattern), auth, std::move(handler)});
}

void Router::each(const std::function<void(Route&)>& change) {
  for (Route& route : routes_) change(route);
}

void Router::fall_back(std::function<bool(const RequestHead&)> takes, Handler handler, Right right) {
  takes_ = std::move(takes);
  fallback_.handler = std::move(handler);
  fallback_.right = right;
}

void Router::shape_errors(std::string prefix, ErrorShape shape) {
  shapes_.emplace_back(std::move(prefix), std::move(shape));
}

Router::Match Router::match(const RequestHead& head) const {
  Match best;
  std::string best_rank;
  for (const auto& route : routes_) {
    std::map<std::string, std::string> params;
    auto rank = match_pattern(route.pattern, head.segments, params);
    if (!rank) continue;
    const bool any = route.method == "*";
    if (!any && route.method != head.method) {
      if (std::find(best.allowed.begin(), best.allowed.end(), route.method) == best.allowed.end()) {
        best.allowed.push_back(route.method);
      }
      continue;
    }
    *rank += any ? 'b' : 'a';
    if (best.route == nullptr || *rank < best_rank) {
      best.route = &route;
      best.params = std::move(params);
      best_rank = *std::move(rank);
    }
  }
  if (best.route == nullptr && best.allowed.empty() && takes_ && takes_(head)) best.route = &fallback_;
  return best;
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
