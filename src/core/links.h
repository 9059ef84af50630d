// LinkVerbs: core::Links. All links are in memory and in the store; only hashes of their secrets
// are.
#pragma once
#include <map>
#include <memory>

#include "core/registry.h"
#include "core/verbs/links.h"

namespace cay::core {

class LinkVerbs : public Links {
 public:
  explicit LinkVerbs(std::shared_ptr<Registry> registry) : registry_(std::move(registry)) {}

  // Reads the store; after the registry has its rows.
  Result<void> open();

  Task<IssuedLink> issue(Principal who, std::string ref, LinkSpec spec) override;
  Task<std::vector<Link>> list(Principal who, std::string ref) override;
  Task<void> withdraw(Principal who, std::string ref, LinkId id) override;
  Task<std::uint32_t> withdraw_all(Principal who, std::string ref,
                                   std::optional<std::uint16_t> port) override;
  Result<OpenLink> use(std::string_view token, const SandboxId& sandbox,
                       std::uint16_t port) override;
  void end_lapsed(const std::function<bool(const Link& link)>& key_lives) override;
  // A sandbox is gone: its rows went with it.
  void forget(const SandboxId& sandbox);

 private:
  static constexpr std::size_t kMost = 1000;  // of a sandbox, that could be used
  struct Kept {
    Link link;
    std::shared_ptr<LinkEnd> ended;
  };
  using OfOne = std::map<LinkId, Kept>;

  bool expired(const Link& link) const;
  Result<void> erase(OfOne& links, const std::vector<LinkId>& ids);

  std::shared_ptr<Registry> registry_;
  std::map<SandboxId, OfOne> links_;
  std::map<LinkId, SandboxId> in_use_;  // used since they were last found idle
};

}  // namespace cay::core
