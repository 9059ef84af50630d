#include "gate/upstream_proxy.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/write.hpp>
#include <sstream>
#include <utility>

#include "async/deadline.h"
#include "gate/proxy_answer.h"
#include "gate/socket_bytes.h"
#include "gate/stand_ins.h"

namespace cay::gate {
namespace {

namespace bhttp = boost::beast::http;

Error failed(const char* reason, std::string message) {
  return {Code::kUnavailable, reason, std::move(message), 0};
}

bool is_of(std::string_view host, std::string_view domain) {
  return host == domain || (host.size() > domain.size() && host.ends_with(domain) &&
                            host[host.size() - domain.size() - 1] == '.');
}

}  // namespace

UpstreamProxy::UpstreamProxy(const ProxySettings& settings)
    : host_(settings.host),
      authorization_(settings.authorization),
      port_(static_cast<std::uint16_t>(settings.port)) {
  for (const std::string& one : settings.not_for) {
    if (one == "*") {
      all_direct_ = true;
    } else if (const auto network = Network::parse(one)) {
      direct_networks_.push_back(*network);
    } else {
      direct_names_.push_back(one.starts_with("*.")  ? one.substr(2)
                              : one.starts_with('.') ? one.substr(1)
                                                     : one);
    }
  }
}

Result<std::vector<Network>> reachable_networks(const std::vector<std::string>& opened,
                                                const ProxySettings& proxy) {
  std::vector<Network> out;
  for (const std::string& text : opened) {
    const auto network = Network::parse(text);
    if (!network)
      return Error{Code::kInvalidArgument, "bad_config", "'" + text + "' is no network", 0};
    out.push_back(*network);
  }
  if (!proxy.host.empty()) out.push_back(UpstreamProxy::stand_ins());
  return out;
}

Network UpstreamProxy::stand_ins() {
  static const Network all = *Network::parse("240.0.0.0/5");
  return all;
}

bool UpstreamProxy::is_direct(std::string_view host) const {
  return all_direct_ || host == host_ ||
         std::ranges::any_of(direct_names_,
                             [&](const std::string& domain) { return is_of(host, domain); });
}

LookUp UpstreamProxy::look_up(LookUp own) const {
  if (!is_set()) return own;
  return [proxy = *this, own = std::move(own)](const std::string& name) {
    Resolved found = own(name);
    if (found.outcome == Resolved::Outcome::kFound || proxy.is_direct(name)) return found;
    return Resolved{Resolved::Outcome::kFound, {stand_in_of(name, 240, 7)}};
  };
}

bool UpstreamProxy::takes(std::string_view host, const IpAddress& address) const {
  if (!is_set()) return false;
  if (stand_ins().contains(address)) return true;
  if (is_special(address) || is_direct(host)) return false;
  return std::ranges::none_of(direct_networks_,
                              [&](const Network& network) { return network.contains(address); });
}

Task<UpstreamProxy::Opened> UpstreamProxy::reach(asio::any_io_executor loop, Resolver& resolver,
                                                 std::string host, Endpoint to, BufferSizes buffers,
                                                 Millis limit) const {
  if (takes(host, to.address)) {
    auto opened = co_await open(loop, resolver, std::move(host), to, buffers, limit);
    co_return opened;
  }
  CAY_CO_TRY(auto socket, co_await dial(loop, to, buffers, limit));
  co_return Opened{std::move(socket), {}};
}

Task<UpstreamProxy::Opened> UpstreamProxy::open(asio::any_io_executor loop, Resolver& resolver,
                                                std::string host, Endpoint to, BufferSizes buffers,
                                                Millis limit) const {
  if (host.empty()) {
    // An address that was kept for longer than its name.
    if (stand_ins().contains(to.address))
      co_return failed("unreachable", "the address stands for a name that is not known any more");
    host = to.address.is_v4() ? to.address.text() : "[" + to.address.text() + "]";
  }
  std::vector<IpAddress> places;
  if (const auto address = IpAddress::parse(host_)) {
    places.push_back(*address);
  } else {
    std::string nobody;
    auto found = co_await resolver.resolve(host_, std::move(nobody));
    places = std::move(found.addresses);
  }
  Result<UniqueFd> dialled = failed("proxy_unreachable", "the proxy's name has no address");
  for (const IpAddress& place : places) {
    const Endpoint at{place, port_};
    dialled = co_await dial(loop, at, buffers, limit);
    if (dialled) break;
  }
  if (!dialled) co_return failed("proxy_unreachable", "the proxy does not answer");
  auto asking = ask(loop, *std::move(dialled), host + ":" + std::to_string(to.port));
  auto opened = co_await with_deadline(std::move(asking), kAnswerLimit, "the proxy's answer");
  if (!opened && opened.error().code == Code::kDeadlineExceeded)
    co_return failed("proxy_bad_answer", "the proxy did not answer in time");
  co_return opened;
}

Task<UpstreamProxy::Opened> UpstreamProxy::ask(asio::any_io_executor loop, UniqueFd socket,
                                               std::string target) const {
  bhttp::request<bhttp::empty_body> request(bhttp::verb::connect, target, 11);
  request.set(bhttp::field::host, target);
  if (!authorization_.empty()) request.set(bhttp::field::proxy_authorization, authorization_);
  std::ostringstream text;
  text << request;
  const std::string bytes = std::move(text).str();
  Descriptor at(loop, socket.release());
  // Some hundred bytes for a socket that was empty.
  if (::send(at.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(bytes.size())) {
    co_return failed("proxy_unreachable", "the proxy ended the connection");
  }
  ProxyAnswer answer;
  std::string in;
  for (auto state = ProxyAnswer::State::kMore; state != ProxyAnswer::State::kYes;) {
    const Received heard = co_await receive(at, in);
    if (heard != Received::kSome)
      co_return failed("proxy_bad_answer", "the proxy ended the connection without an answer");
    state = answer.read(in);
    if (state == ProxyAnswer::State::kNotHttp)
      co_return failed("proxy_bad_answer", "what the proxy answers is no HTTP");
    if (state == ProxyAnswer::State::kNo)
      co_return failed("proxy_refused", "the proxy refuses: " + std::to_string(answer.status()));
  }
  co_return Opened{UniqueFd(at.release()), std::move(in)};
}

}  // namespace cay::gate
