#include "core/base_images.h"

#include <algorithm>
#include <charconv>

#include "core/build_errors.h"
#include "core/errors.h"
#include "dockerfile/text.h"

namespace cay::core {
namespace {

constexpr std::uint16_t kHttps = 443;
// docker.io has no registry of its own under that name.
constexpr std::string_view kDockerHub = "docker.io";
constexpr std::string_view kDockerRegistry = "registry-1.docker.io";

struct HostAndPort {
  std::string host;
  std::uint16_t port = kHttps;
};

HostAndPort endpoint_of(const std::string& registry) {
  if (registry == kDockerHub) return {std::string(kDockerRegistry)};
  HostAndPort out{registry};
  const std::size_t colon = registry.rfind(':');
  if (colon == std::string::npos || registry.ends_with(']')) return out;
  const char* const end = registry.data() + registry.size();
  if (std::from_chars(registry.data() + colon + 1, end, out.port).ptr == end)
    out.host = registry.substr(0, colon);
  return out;
}

}  // namespace

Result<void> BaseImages::check_reach(const ImageReference& image,
                                     const policy::Choice& choice) const {
  const HostAndPort to = endpoint_of(image.registry);
  const auto policy = defaults_.policies->policy_of(choice);
  const auto decide = [&](const policy::ConnectionFacts& facts) { return policy->decide(facts); };
  policy::Verdict verdict;
  if (const auto address = IpAddress::parse(to.host)) {
    verdict = policy::verdict_of_address(*address, to.port, decide);
  } else {
    const std::vector<std::string> names{to.host};
    verdict = decide({.names = names, .shown = to.host, .address = std::nullopt, .port = to.port});
  }
  if (verdict.allowed()) return {};
  return Error{Code::kPermissionDenied, "egress_denied",
               "the image " + image.text() + " is not fetched, as the sandbox's policy does not " +
                   "reach " + to.host + ": allow it by cay policy set SANDBOX --add " + to.host,
               0};
}

Task<std::optional<SnapshotInfo>> BaseImages::here(Principal who, std::string reference,
                                                   bool by_name) {
  if (by_name) {
    auto found = snapshots_.find(who.tenant, reference);
    if (found) co_return std::optional<SnapshotInfo>(*std::move(found));
    if (found.error().code != Code::kNotFound && found.error().code != Code::kNotReady)
      co_return std::move(found).error();
  }
  const auto named = image_reference_from(reference);
  if (!named) co_return std::optional<SnapshotInfo>();
  auto listing = snapshots_.list(std::move(who));
  CAY_CO_TRY(auto all, co_await std::move(listing));
  for (SnapshotInfo& row : all) {
    const auto of_row = image_reference_from(row.image_name);
    if (row.origin == kFromRegistry && row.status == kSnapshotReady && of_row &&
        of_row->text() == named->text())
      co_return std::optional<SnapshotInfo>(std::move(row));
  }
  co_return std::optional<SnapshotInfo>();
}

Task<SnapshotInfo> BaseImages::get(Principal who, const BuildRequest& request,
                                   std::string reference,
                                   std::optional<policy::Choice> confined_to) {
  const auto named = image_reference_from(reference);
  if (!named)
    co_return build_failed("'" + dockerfile::shown(reference) + "' is no image's reference");
  CAY_CO_TRY(const auto kept, registries_.login_at(who.tenant, named->registry));
  if (confined_to && !kept && named->registry != kDockerHub) {
    CAY_CO_CHECK(check_reach(*named, *confined_to));
  }
  ImageSource source;
  source.reference = reference;
  source.platform = request.platform;
  if (const auto login = request.logins.find(named->registry); login != request.logins.end())
    source.login = login->second;
  else if (kept)
    source.login = *kept;
  if (!request.pull) {
    auto looking = here(who, reference, !confined_to.has_value());
    CAY_CO_TRY(auto found, co_await std::move(looking));
    if (found) co_return *std::move(found);
  }
  auto import = request.pull ? nullptr : imports_.pulling(who.tenant, named->text());
  if (!import) {
    auto beginning = snapshots_.create_from_image(std::move(who), {}, std::move(source));
    CAY_CO_TRY(const SnapshotInfo begun, co_await std::move(beginning));
    import = imports_.of(begun.id);
  }
  if (!import) co_return snapshot_not_found(reference);  // removed at once
  co_await import->done.wait();
  if (import->failure) co_return *import->failure;
  co_return import->row;
}

}  // namespace cay::core
