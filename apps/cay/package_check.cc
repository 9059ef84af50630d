#include "package_check.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <map>
#include <utility>

namespace cay::app {
namespace {

constexpr std::chrono::seconds kLookUpLimit{3};  // for all names together

IpAddress address_of(const asio::ip::address& address) {
  if (address.is_v4()) return IpAddress::v4(address.to_v4().to_bytes());
  return IpAddress::v6(address.to_v6().to_bytes());
}

// Shared with the timer, whose handler may still be queued when the coroutine has ended.
struct Lookup {
  explicit Lookup(const asio::any_io_executor& executor) : resolver(executor) {}
  asio::ip::tcp::resolver resolver;
  bool is_late = false;
};

}  // namespace

PackageCheck::PackageCheck(const NetworkConfig& config,
                           std::shared_ptr<const policy::Catalogue> policies,
                           std::function<bool(const IpAddress&)> is_own_address)
    : config_(config), policies_(std::move(policies)), is_own_address_(std::move(is_own_address)) {
  const HostSettings host = host_settings();
  sources_ = package_sources(config_, *policies_, host);
  own_authorities_ = has_own_authorities(host);
}

Task<core::Feature> PackageCheck::look() const {
  const auto executor = co_await asio::this_coro::executor;
  const auto lookup = std::make_shared<Lookup>(executor);
  asio::steady_timer timer(executor, kLookUpLimit);
  timer.async_wait([weak = std::weak_ptr(lookup)](const boost::system::error_code& error) {
    const auto late = weak.lock();
    if (error || !late) return;
    late->is_late = true;
    late->resolver.cancel();
  });
  std::map<std::string, std::vector<IpAddress>> found;
  std::vector<FoundSource> out;
  for (const PackageSource& source : sources_) {
    const bool is_new = found.try_emplace(source.host).second;
    if (is_new && !lookup->is_late) {
      boost::system::error_code error;
      const auto results = co_await lookup->resolver.async_resolve(
          source.host, "", asio::redirect_error(asio::use_awaitable, error));
      if (!error) {
        for (const auto& one : results)
          found[source.host].push_back(address_of(one.endpoint().address()));
      }
    }
    out.push_back({source, found[source.host]});
  }
  const PackageFacts facts{.config = config_,
                           .policies = *policies_,
                           .is_own_address = is_own_address_,
                           .own_authorities = own_authorities_};
  co_return packages_feature(out, facts);
}

}  // namespace cay::app
