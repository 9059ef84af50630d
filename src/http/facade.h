// Facade: the declaration of one wire protocol to the server. It states how the protocol's clients
// send their key, how its refusals look, and which of its routes take no API key.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "http/message.h"

namespace cay::http {

// How a facade writes an error that arises before its handler (401, 404, 405, 413, 500).
using ErrorShape = std::function<Response(const RequestHead&, int status, const Error&)>;

// One header that may carry the key of a request.
struct KeyPlace {
  enum class Form {
    kBare,           // "KEY"
    kBearer,         // "Bearer KEY"
    kBasicPassword,  // "Basic BASE64(user:KEY)" with any user
  };
  std::string header;
  Form form = Form::kBare;
};

// How the clients of a facade authenticate. Every key is one of Cay's, whatever header carries it.
struct KeyRule {
  std::vector<KeyPlace> places;  // the first one that holds a key counts, and no other is read
  std::string challenge;         // the WWW-Authenticate header of a 401
};

struct Facade {
  // A request belongs to the facade with the longest prefix of its path, by whole segments.
  // "/" takes what no other facade has.
  std::vector<std::string> prefixes;
  ErrorShape refusal{};
  std::optional<KeyRule> key{};  // nothing: Cay's own rule. There is no rule without a key.
  // The only routes of the facade that take no API key, as "METHOD PATTERN". Each of them is
  // either for everybody (Auth::kNone) or checks a token of its own (Auth::kOwn).
  std::vector<std::string> without_key{};
};

}  // namespace cay::http
