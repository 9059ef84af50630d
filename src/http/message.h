// HTTP messages as facades see them: plain standard types, no Beast (which takes 15 s to compile).
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cay::http {

// Names compare case-insensitively; order and repeats are kept.
class Headers {
 public:
  void add(std::string name, std::string value) {
    items_.emplace_back(std::move(name), std::move(value));
  }
  void set(std::string_view name, std::string value);                // replaces all
  std::optional<std::string_view> get(std::string_view name) const;  // the first
  const std::vector<std::pair<std::string, std::string>>& items() const { return items_; }

 private:
  std::vector<std::pair<std::string, std::string>> items_;
};

// Returns the names that the Connection headers declare as the connection's own (RFC 9110, 7.6.1),
// in lower case. It is a set, for there may be thousands of them.
std::set<std::string, std::less<>> connection_options(const Headers& headers);

// Decoded query, in order. '+' is a space; "%2B" is a plus.
class Query {
 public:
  static std::optional<Query> parse(std::string_view text);  // nullopt: bad percent-encoding or NUL
  std::optional<std::string_view> get(std::string_view name) const;  // the first
  std::vector<std::string_view> all(std::string_view name) const;
  const std::vector<std::pair<std::string, std::string>>& items() const { return items_; }

 private:
  std::vector<std::pair<std::string, std::string>> items_;
};

struct RequestHead {
  std::string method;  // "GET"
  std::string target;  // as sent: "/v2/sandboxes/boxes/a%2Fb?x=1"
  std::vector<std::string>
      segments;  // path split at '/', each percent-decoded: {"v2","sandboxes","boxes","a/b"}
  Query query;
  Headers headers;
  std::string host;             // checked Host
  std::string scheme = "http";  // as the client sees it
  std::string peer;             // "127.0.0.1:51234"
  bool retold = false;          // scheme, host or peer are a proxy's word, or the operator's
  bool wants_websocket = false;
  bool wants_tunnel = false;  // Upgrade: cay-tunnel
  bool upgrades() const { return wants_websocket || wants_tunnel; }
};

// A caller that has shown a key or a link.
struct Caller {
  enum class Kind { kKey, kLink } kind = Kind::kKey;
  std::string id;  // TENANT/NAME of the key, or TENANT/ID of the link
  bool operator==(const Caller&) const = default;
};

struct Response {
  int status = 200;
  Headers headers;
  std::string body;
  std::shared_ptr<void> holds{};  // let go when it was sent, or cannot be
};

// JSON answer with the right Content-Type.
Response json_response(int status, std::string body);

}  // namespace cay::http
