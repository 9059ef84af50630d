#include "cli/net_words.h"

#include "base/ip_address.h"
#include "cli/render.h"

namespace cay::cli {

std::string words_for(const sdk::NetworkDecision& line) {
  if (line.reason.empty()) return "";
  if (line.reason == "not_in_policy") return "no rule of its policy matches";
  if (line.reason == "answer_denied") return "somebody was asked, and refused it";
  if (line.reason == "not_answered") return "somebody was asked, and did not answer in 2 minutes";
  if (line.reason == "too_many_questions") return "too many answers were waited for at once";
  if (line.reason == "client_left") return "it ended before somebody had answered";
  if (line.reason == "policy_unreadable")
    return "what is written of its policy or its proxy rules cannot be read: nothing is let "
           "through until it is written anew";
  if (line.reason == "denied_by_rule") return "refused by the rule " + printable(line.rule);
  if (line.reason == "policy_changed")
    return "its policy was changed" +
           (line.rule.empty() ? std::string() : ": refused by the rule " + printable(line.rule));
  if (line.reason == "port_not_in_policy") return "its policy has that host at other ports";
  if (line.reason == "policy_not_allowed")
    return "the operator allows its policy no more (network.policies)";
  if (line.reason == "private_address") {
    const auto address = IpAddress::parse(line.address);
    if (!address) return "a private, local or reserved address";
    const std::string_view kind = kind_of(*address);
    return kind.empty() ? "an address of this host itself" : std::string(kind);
  }
  if (line.reason == "names_no_host" || line.reason == "not_tls" || line.reason == "not_http")
    return "its first bytes name no host";
  if (line.reason == "server_name_changed")
    return "its second ClientHello named another host than its first";
  if (line.reason == "too_many_hosts") return "requests for more than 16 hosts over one connection";
  if (line.reason == "said_too_little")
    return "it ended, or 10 s passed, before its first bytes named a host";
  if (line.reason == "lookup_failed") return "this host's resolver failed";
  if (line.reason == "gate_failed") return "the gate ran out of descriptors, memory or ports";
  if (line.reason == "name_not_found") return "the name has no address";
  if (line.reason == "unreachable") return "no way there from this host";
  if (line.reason == "refused_by_host") return "nothing listens there";
  if (line.reason == "no_answer") return "no answer";
  if (line.reason == "token_unknown")
    return "without the token that its proxy rule " +
           (line.rule.empty() ? "" : "'" + printable(line.rule) + "' ") + "gives";
  if (line.reason == "no_such_rule")
    return line.rule.empty()
               ? "no proxy rule is for it"
               : "it has no proxy rule '" + printable(line.rule) + "' of way base_url";
  if (line.reason == "rule_changed") return "cut: its proxy rule or secret was changed";
  if (line.reason == "secret_unusable") return "the vault cannot open its secret: give it again";
  if (line.reason == "path_not_in_rule") return "no proxy rule of that host has the path";
  if (line.reason == "method_not_in_rule")
    return "no proxy rule of that host has the method at that path";
  if (line.reason == "ambiguous_path")
    return "proxy rules of that host name paths, and this one could be read as another";
  if (line.reason == "method_overridden")
    return "its headers or query name another method or path than its own";
  if (line.reason == "bad_request") return "no proper HTTP/1.1, or a body where servers read none";
  if (line.reason == "secret_gone") return "its proxy rule's secret was removed";
  if (line.reason == "fenced")
    return "a fence is for that host, and this would have gone past it: by TLS that names the "
           "host it does not";
  if (line.reason == "host_mismatch") return "the request named another host than the connection";
  if (line.reason == "secret_reflected") return "cut: the answer held the secret";
  if (line.reason == "answer_partial")
    return "the answer was a part, and a secret could be fetched in pieces";
  if (line.reason == "secret_withdrawn")
    return "the secret of its proxy rule was removed, or is being changed";
  if (line.reason == "answer_unreadable")
    return "the answer was packed, and a secret could be in it";
  if (line.reason == "authority_not_trusted")
    return "the client does not trust the sandbox's authority, or spoke no TLS";
  if (line.reason == "tls_untrusted") return "its certificate is not trusted";
  if (line.reason == "vault_unavailable")
    return "the broker, which keeps secrets and minds fences, is away: nothing goes past it";
  if (line.reason == "rules_unknown")
    return "the broker does not know the sandbox's proxy rules (any more, or yet): nothing goes "
           "past it";
  if (line.reason == "proxy_unreachable") return "the host's proxy does not answer";
  if (line.reason == "proxy_refused") return "the host's proxy refuses it";
  if (line.reason == "proxy_bad_answer") return "the host's proxy gives no proper answer";
  if (line.reason == "too_many_connections") return "too many connections at once";
  if (line.reason == "too_many_new_names") return "too many new names a second";
  if (line.reason == "bytes_used_up")
    return "the sandbox has moved all the bytes that the operator gives it";
  if (line.reason == "too_many_new_connections") return "too many new connections a second";
  return line.reason;
}

std::string for_sandbox(std::string remedy, const std::string& sandbox) {
  for (const std::string command : {"cay policy set ", "cay policy get ", "cay proxy "}) {
    const std::string any = command + "SANDBOX", own = command + printable(sandbox);
    for (std::size_t at = remedy.find(any); at != std::string::npos;
         at = remedy.find(any, at + own.size()))
      remedy.replace(at, any.size(), own);
  }
  return remedy;
}

}  // namespace cay::cli
