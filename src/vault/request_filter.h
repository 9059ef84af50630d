// RequestFilter: decides which requests the rules of a host allow, by method and path.
//
// Decision 0023 has the reasons. It does no I/O.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/message.h"
#include "wire/vault.h"

namespace cay::vault {

// The rules that are for one host.
using HostRules = std::vector<const wire::VaultRule*>;

class RequestFilter {
 public:
  // Reads one request.
  //
  // Fails kPermissionDenied (ambiguous_path) if a rule lists paths and a server might read this
  // path as another. Fails kPermissionDenied (method_overridden) if a rule lists methods or paths,
  // and a header requests another method or path than the request line.
  static Result<RequestFilter> create(HostRules rules, std::string method, std::string_view target,
                                      const http::Headers& headers);

  bool allows(const wire::VaultRule& rule) const;
  // The error when no rule allows the request: method_not_in_rule or path_not_in_rule.
  // Its message repeats the method and nothing else of the guest's request.
  Error refusal(std::string_view where) const;
  // The target to send: its path is the one that was judged.
  const std::string& target() const { return target_; }

 private:
  bool has_method(const wire::VaultRule& rule) const;
  bool has_path(const wire::VaultRule& rule) const;
  HostRules rules_;
  std::string method_, path_, target_;
};

}  // namespace cay::vault
