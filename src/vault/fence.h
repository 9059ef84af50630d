// Fence: which requests the rules of a host let through, by method and path (decision 0023). Pure.
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

class Fence {
 public:
  // What a request wants. kPermissionDenied: ambiguous_path (a rule lists paths, and this one might be read as another), method_overridden (a rule lists methods,
  // or paths, and the request asks the server to take it for one of another).
  static Result<Fence> of(HostRules rules, std::string method, std::string_view target, const http::Headers& headers);

  bool lets_through(const wire::VaultRule& rule) const;
  // Why none of the rules does: method_not_in_rule, path_not_in_rule. What it says of the guest's request is the method alone.
  Error refusal(std::string_view where) const;
  // As the request goes on: the path as it was judged.
  const std::string& target() const { return target_; }

 private:
  bool has_method(const wire::VaultRule& rule) const;
  bool has_path(const wire::VaultRule& rule) const;
  HostRules rules_;
  std::string method_, path_, target_;
};

}  // namespace cay::vault
