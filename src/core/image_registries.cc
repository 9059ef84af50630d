#include "core/image_registries.h"

#include <algorithm>

#include "base/ascii.h"
#include "core/errors.h"

namespace cay::core {
namespace {

constexpr std::size_t kLongestUrl = 500;
constexpr std::size_t kLongestUsername = 255;
constexpr std::size_t kLongestPassword = 64 * 1024;  // a key of a service account is a JSON text

// "https://registry.example.com/v2/" -> "registry.example.com", as references name it. Empty: the
// text is no registry's URL.
std::string registry_host(const std::string& url) {
  std::string_view rest = url;
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (rest.starts_with(scheme)) rest.remove_prefix(scheme.size());
  }
  std::string host = lowered(rest.substr(0, rest.find('/')));
  const auto colon = host.rfind(':');
  const bool has_port = colon != std::string::npos && !host.ends_with(']');
  const std::string_view port = has_port ? std::string_view(host).substr(colon + 1) : "443";
  if (port.empty() || port.find_first_not_of("0123456789") != std::string_view::npos) return {};
  if (host == "index.docker.io" || host == "registry-1.docker.io") host = "docker.io";
  const auto named = image_reference_from(host + "/x");
  return named && named->registry == host ? host : std::string();
}

Result<void> check_registry(const StoredImageRegistry& row) {
  const ImageRegistry& info = row.info;
  if (!is_valid_name(info.name) || is_uuid(info.name)) {
    return invalid("invalid_name",
                   "a registry's name has 1 to 63 letters, digits, '.', '_' or '-', begins and "
                   "ends with a letter or digit, and is no id");
  }
  if (info.url.size() > kLongestUrl || registry_host(info.url).empty()) {
    return invalid("invalid_registry_url",
                   "a registry's url is its host, such as registry.example.com, localhost:5000 or "
                   "https://registry.example.com");
  }
  const auto has = [](const std::string& text, char c) {
    return text.find(c) != std::string::npos;
  };
  if (info.username.size() > kLongestUsername || has(info.username, ':') ||
      has(info.username, '\0')) {
    return invalid("invalid_registry_login",
                   "a registry's user name has at most 255 bytes and no ':'");
  }
  if (row.password.size() > kLongestPassword || has(row.password, '\0'))
    return invalid("invalid_registry_login", "a registry's password has at most 64 KiB and no NUL");
  return {};
}

}  // namespace

Result<StoredImageRegistry> ImageRegistryVerbs::find(const TenantId& tenant,
                                                     const std::string& ref) const {
  CAY_TRY(auto all, kept().of(tenant));
  const auto found = std::ranges::find_if(all, [&](const StoredImageRegistry& row) {
    return row.info.id.get() == ref || row.info.name == ref;
  });
  if (found != all.end()) return std::move(*found);
  return Error{Code::kNotFound, "registry_not_found",
               "no registry '" + ref.substr(0, 200) + "': list the registries to see the names", 0};
}

Task<ImageRegistry> ImageRegistryVerbs::create(Principal who, NewImageRegistry made) {
  CAY_CO_TRY(const auto all, kept().of(who.tenant));
  if (all.size() >= kMost) {
    co_return Error{Code::kExhausted, "too_many_registries",
                    "a tenant keeps at most 1000 registries: remove one", 0};
  }
  StoredImageRegistry row;
  row.info.id = RegistryId(new_uuid());
  row.info.tenant = who.tenant;
  row.info.name = std::move(made.name);
  row.info.url = std::move(made.url);
  row.info.username = std::move(made.username);
  row.info.created_by = who.key_name;
  row.info.updated_by = who.key_name;
  row.info.created_at = registry_->clock().wall();
  row.info.updated_at = row.info.created_at;
  row.password = std::move(made.password);
  CAY_CO_CHECK(check_registry(row));
  CAY_CO_CHECK(kept().put(row));
  co_return std::move(row.info);
}

Task<std::vector<ImageRegistry>> ImageRegistryVerbs::list(Principal who) {
  CAY_CO_TRY(auto all, kept().of(who.tenant));
  std::vector<ImageRegistry> out;
  for (StoredImageRegistry& row : all) out.push_back(std::move(row.info));
  co_return out;
}

Task<ImageRegistry> ImageRegistryVerbs::get(Principal who, std::string ref) {
  CAY_CO_TRY(auto row, find(who.tenant, ref));
  co_return std::move(row.info);
}

Task<ImageRegistry> ImageRegistryVerbs::update(Principal who, std::string ref,
                                               ImageRegistryChange change) {
  CAY_CO_TRY(auto row, find(who.tenant, ref));
  const std::string host = registry_host(row.info.url);
  if (change.name) row.info.name = *std::move(change.name);
  if (change.url) row.info.url = *std::move(change.url);
  if (change.username) row.info.username = *std::move(change.username);
  // The caller may not know the password, which a pull would send to the new host.
  if (registry_host(row.info.url) != host && !change.password && !row.password.empty()) {
    co_return invalid("invalid_registry_url",
                      "the registry's url becomes another host: give the password, too, which is "
                      "kept for " +
                          host + " alone");
  }
  if (change.password) row.password = *std::move(change.password);
  row.info.updated_by = who.key_name;
  row.info.updated_at = registry_->clock().wall();
  CAY_CO_CHECK(check_registry(row));
  CAY_CO_CHECK(kept().put(row));
  co_return std::move(row.info);
}

Task<void> ImageRegistryVerbs::remove(Principal who, std::string ref) {
  CAY_CO_TRY(const auto row, find(who.tenant, ref));
  co_return kept().erase(row.info.id);
}

Result<ImageSource> ImageRegistryVerbs::with_login(const TenantId& tenant,
                                                   ImageSource source) const {
  if (source.registry.empty()) return source;
  CAY_TRY(auto row, find(tenant, source.registry));
  const std::string host = registry_host(row.info.url);
  auto named = image_reference_from(source.reference);
  if (named && named->registry == "docker.io" && host != "docker.io" &&
      !source.reference.starts_with("docker.io/")) {
    source.reference = host + "/" + source.reference;
    named = image_reference_from(source.reference);
  }
  if (named && named->registry != host) {
    return invalid("registry_mismatch", "the image " + source.reference.substr(0, 200) +
                                            " is not of the registry '" + row.info.name + "' (" +
                                            host + "), whose login goes nowhere else");
  }
  source.registry = row.info.id.get();
  source.login = RegistryLogin{std::move(row.info.username), std::move(row.password), {}};
  return source;
}

Result<std::optional<RegistryLogin>> ImageRegistryVerbs::login_at(const TenantId& tenant,
                                                                  const std::string& host) const {
  CAY_TRY(auto all, kept().of(tenant));
  const auto found = std::ranges::find_if(
      all, [&](const StoredImageRegistry& row) { return registry_host(row.info.url) == host; });
  if (found == all.end()) return std::optional<RegistryLogin>();
  return std::optional<RegistryLogin>(
      RegistryLogin{std::move(found->info.username), std::move(found->password), {}});
}

}  // namespace cay::core
