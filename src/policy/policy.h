// Policy: a set of rules with the policies that it names, ready to decide.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "policy/rule_set.h"

namespace cay::policy {

// A connection as far as it is known.
struct ConnectionFacts {
  std::span<const std::string> names{};   // that the sandbox was given this address for; lower case
  std::optional<std::string_view> shown;  // the name in its first bytes, once they were read
  std::optional<IpAddress> address;       // nullopt: nobody knows, and no network matches
  std::uint16_t port = 0;
  // Its first bytes are read though no rule requires that, and may show any name: a rule for one
  // matches perhaps.
  bool may_show = false;
};

struct Verdict {
  enum class Says : std::uint8_t {
    kYes,
    kNo,
    kShow,  // it depends on the name that the first bytes show, as `proof`
  };
  Says says = Says::kNo;
  Proof proof = Proof::kNone;
  std::string
      rule{};  // that decided, as "!evil.test" or "@packages: @pip: pypi.org"; empty: none matched
  bool by_address = false;  // that rule is this address's alone

  bool allowed() const { return says == Says::kYes; }
};

class Policy {
 public:
  // Returns the policy that a name in the rules stands for. Null: it lets nothing through.
  using Named = std::function<std::shared_ptr<const Policy>(std::string_view name)>;
  Policy(RuleSet rules, const Named& named);
  Policy(const Policy&) = delete;  // entries point into the rules
  Policy& operator=(const Policy&) = delete;

  // Never kShow once `shown` is set. A rule that requires a shown name is matched against that name
  // alone, and any other rule against the names that the address was given for. `more` counts as
  // one more rule, which allows and names no policy: in order the first, else behind the others.
  Verdict decide(const ConnectionFacts& facts, const Rule* more = nullptr) const;
  // Returns whether a name is resolved. It is not if no port of it could be reached. Networks do
  // not count for names, but those of every address do.
  Verdict may_resolve(std::string_view name, const Rule* more = nullptr) const;

  // The networks of its rules and of those of the policies that it names, each once, `most` at
  // most.
  std::vector<Network> networks(std::size_t most) const;

  // The rule that refuses every IPv6 address, before any that allows something; empty: there is
  // none.
  std::string refuses_v6() const;

  const RuleSet& rules() const { return rules_; }
  // Instructions of all expressions that may be looked at for one name.
  std::size_t programs() const { return programs_; }

 private:
  struct Entry {
    const Rule* rule;
    std::shared_ptr<const Policy> named;  // of a rule that is a policy
  };
  struct Match;
  Match match(const Entry& entry, const ConnectionFacts& facts) const;
  static std::string told(const Entry& entry, const std::string& inner);

  RuleSet rules_;
  std::vector<Entry> entries_;  // in the order in which they count
  std::size_t programs_ = 0;
};

// The verdict for an address without a known name, with `decide` as the one of Policy. A rule for
// this address alone lets it through beside refused names. Then TLS comes without a name, and HTTP
// has the address as its Host (gate/inspectors.h). An IPv6 address does not count as a Host.
template <typename Decide>
Verdict verdict_of_address(const IpAddress& address, std::uint16_t port, const Decide& decide) {
  Verdict bare = decide({.names = {}, .shown = std::nullopt, .address = address, .port = port});
  if (bare.says != Verdict::Says::kShow || !(address.is_v4() || bare.proof == Proof::kTls))
    return bare;
  const std::string text = address.text();
  Verdict shown = decide({.names = {}, .shown = text, .address = address, .port = port});
  return shown.by_address ? shown : bare;
}

}  // namespace cay::policy
