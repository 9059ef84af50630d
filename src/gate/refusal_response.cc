#include "gate/refusal_response.h"

#include <algorithm>

#include "base/ascii.h"
#include "gate/first_bytes.h"

namespace cay::gate {

ResponseForm response_form(std::string_view first_bytes, std::size_t looked) {
  const Shown shown = read_request_head(first_bytes, looked);
  if (shown.state == Shown::State::kMore) return ResponseForm::kMore;
  const std::string_view line = first_bytes.substr(0, first_bytes.find("\r\n"));
  const std::string_view method = line.substr(0, line.find(' '));
  if (shown.state == Shown::State::kOther) {  // a request, though not one that is read in one way
    const bool is_method =
        !method.empty() && method.size() < line.size() && std::ranges::all_of(method, is_upper);
    if (!is_method || !(line.ends_with(" HTTP/1.1") || line.ends_with(" HTTP/1.0")))
      return ResponseForm::kNothing;
    if (first_bytes.find("\r\n\r\n") == std::string_view::npos) return ResponseForm::kNothing;
  }
  return method == "HEAD" ? ResponseForm::kHeadOnly : ResponseForm::kPage;
}

std::string why_refused(std::string_view reason, std::string_view host, const Endpoint& to) {
  const std::string what = host.empty() ? to.address.text() : std::string(host);
  if (reason == "private_address") {
    const std::string_view kind = kind_of(to.address);
    return "Nothing in a sandbox may reach " + what + ": it is " +
           std::string(kind.empty() ? "an address of this host itself" : kind) + ".\n";
  }
  if (reason == "fenced")
    return "A proxy rule of this sandbox is a fence for " + what +
           ": it is reached by HTTPS alone.\n";
  if (reason == "names_no_host")
    return "This sandbox's policy does not allow a request that names no host.\n";
  if (reason == "not_http")
    return "This sandbox's policy does not allow a request that is made to a proxy (ask the host "
           "itself), that names an IPv6 address (ask by a name), or that can be read in two ways "
           "(one Host, one length, no body of a GET).\n";
  if (reason == "port_not_in_policy")
    return "This sandbox's policy does not allow " + what + " at port " + std::to_string(to.port) +
           ".\n";
  if (reason == "too_many_new_names")
    return "This sandbox has looked up too many new names: " + what + " may be looked up later.\n";
  if (reason == "answer_denied") return "Somebody was asked about " + what + ", and refused it.\n";
  if (reason == "not_answered")
    return "Somebody was asked about " + what + ", and has not answered in time.\n";
  if (reason == "too_many_questions")
    return "This sandbox waits for answers about too many hosts: " + what +
           " may be asked about later.\n";
  if (reason == "bytes_used_up")
    return "This sandbox has moved all the bytes that the operator gives it.\n";
  return "This sandbox's policy does not allow " + what + ".\n";
}

std::string refusal_response(std::string_view sentence, ResponseForm asks) {
  // Some clients show nothing but the status line.
  std::string out =
      "HTTP/1.1 403 Not allowed by this sandbox's network policy\r\nContent-Type: "
      "text/plain\r\nConnection: close\r\nContent-Length: " +
      std::to_string(sentence.size()) + "\r\n\r\n";
  if (asks != ResponseForm::kHeadOnly) out += sentence;
  return out;
}

}  // namespace cay::gate
