// The rules of a policy, as clients and operators write them. Accepted rules have one spelling with
// the same meaning, and a decision by them ends soon.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "policy/catalogue.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cay::policy;
  static const Catalogue catalogue = *Catalogue::make({}, {"packages"});
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto rules = parse_rules(text);
  if (says_nothing(text) && (!rules || !rules->text().empty())) std::abort();
  if (!rules) return 0;
  if (!extent_of(*rules).check()) std::abort();
  const std::string spelled = rules->text();
  const auto again = parse_rules(spelled);
  if (!again || again->text() != spelled || again->rules.size() != rules->rules.size())
    std::abort();
  const auto choice = catalogue.choose(*rules);
  if (!choice) return 0;
  const auto policy = catalogue.policy_of(*choice);
  const bool within = catalogue.check_allowed(*choice).has_value();
  const auto packages = catalogue.find("packages")->policy;
  const std::string names[] = {"pypi.org", "a.b.example.com", std::string(200, 'a') + ".test"};
  for (const std::string& name : names) {
    static_cast<void>(policy->may_resolve(name));
    for (const std::uint16_t port : {std::uint16_t{80}, std::uint16_t{443}, std::uint16_t{8443}}) {
      const ConnectionFacts facts{.names = {&name, 1},
                                  .shown = name,
                                  .address = *cay::IpAddress::parse("192.0.2.7"),
                                  .port = port};
      const Verdict verdict = policy->decide(facts);
      if (verdict.says == Verdict::Says::kShow) std::abort();
      // A set within another lets nothing through that the other does not.
      if (within && verdict.allowed() && !packages->decide(facts).allowed()) std::abort();
    }
  }
  return 0;
}
