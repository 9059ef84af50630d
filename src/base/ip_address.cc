#include "base/ip_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace cay {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr unsigned kV4Offset = 96;

constexpr const char* kSpecial[] = {
    "0.0.0.0/8",      "10.0.0.0/8",    "100.64.0.0/10",   "127.0.0.0/8",    "168.63.129.16/32",
    "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",    "192.0.2.0/24",   "192.88.99.0/24",
    "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",
    "240.0.0.0/4",    "::/3",          "4000::/2",        "8000::/1",       "2001::/23",
    "2001:db8::/32",  "2002::/16",     "3fff::/20",
};

// AWS (instances, tasks, pods; name server, clock), Azure and others, Google, Alibaba, Oracle.
constexpr const char* kMetadata[] = {
    "169.254.169.254", "169.254.170.2",   "169.254.170.23", "169.254.169.253", "169.254.169.123",
    "168.63.129.16",   "100.100.100.200", "192.0.0.192",    "fd00:ec2::254",   "fd00:ec2::23",
    "fd00:ec2::253",   "fd00:ec2::123",   "fd20:ce::254"};

struct Kind {
  const char* network;
  std::string_view name;
};
// The first that holds it.
constexpr Kind kKinds[] = {
    {"127.0.0.0/8", "loopback"},
    {"::1", "loopback"},
    {"0.0.0.0/8", "no address of a host"},
    {"::", "no address of a host"},
    {"10.0.0.0/8", "a private address"},
    {"172.16.0.0/12", "a private address"},
    {"192.168.0.0/16", "a private address"},
    {"100.64.0.0/10", "a provider's shared address"},
    {"169.254.0.0/16", "a link-local address"},
    {"fe80::/10", "a link-local address"},
    {"fc00::/7", "a private address"},
    {"224.0.0.0/4", "a multicast address"},
    {"ff00::/8", "a multicast address"},
};

// The place of the IPv4 address's bytes in the addresses of a network.
struct Carrying {
  const char* network;
  std::array<std::uint8_t, 4> at;
  bool inverted = false;
};
constexpr Carrying kCarrying[] = {
    {"::/96", {12, 13, 14, 15}},
    {"::ffff:0:0:0/96", {12, 13, 14, 15}},
    {"64:ff9b::/96", {12, 13, 14, 15}},
    // A prefix of 48, 56, 64 or 96 bits: the byte between is zero (RFC 6052, 2.2).
    {"64:ff9b:1::/48", {6, 7, 9, 10}},
    {"64:ff9b:1::/48", {7, 9, 10, 11}},
    {"64:ff9b:1::/48", {9, 10, 11, 12}},
    {"64:ff9b:1::/48", {12, 13, 14, 15}},
    {"2002::/16", {2, 3, 4, 5}},
    {"2001::/32", {4, 5, 6, 7}},
    {"2001::/32", {12, 13, 14, 15}, true},  // Teredo: its server, its client
};

bool has_bit(const std::array<std::uint8_t, 16>& bytes, unsigned bit) {
  return (bytes[bit / 8] >> (7 - bit % 8) & 1) != 0;
}

}  // namespace

IpAddress IpAddress::v4(std::span<const std::uint8_t, 4> bytes) {
  IpAddress out;
  std::ranges::copy(kMapped, out.bytes_.begin());
  std::ranges::copy(bytes, out.bytes_.begin() + kMapped.size());
  return out;
}

IpAddress IpAddress::v6(std::span<const std::uint8_t, 16> bytes) {
  IpAddress out;
  std::ranges::copy(bytes, out.bytes_.begin());
  return out;
}

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  const std::string whole(text);
  if (whole.find('\0') != std::string::npos) return std::nullopt;
  std::array<std::uint8_t, 4> four{};
  if (::inet_pton(AF_INET, whole.c_str(), four.data()) == 1) return v4(four);
  std::array<std::uint8_t, 16> sixteen{};
  if (::inet_pton(AF_INET6, whole.c_str(), sixteen.data()) == 1) return v6(sixteen);
  return std::nullopt;
}

bool IpAddress::is_v4() const { return std::equal(kMapped.begin(), kMapped.end(), bytes_.begin()); }

std::span<const std::uint8_t, 4> IpAddress::v4_bytes() const { return std::span(bytes_).last<4>(); }

std::string IpAddress::text() const {
  char buffer[INET6_ADDRSTRLEN] = {};
  const bool four = is_v4();
  ::inet_ntop(four ? AF_INET : AF_INET6, four ? v4_bytes().data() : bytes_.data(), buffer,
              sizeof buffer);
  return buffer;
}

std::optional<Network> Network::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = IpAddress::parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  const unsigned most = address->is_v4() ? 32 : 128;
  Network out{*address, most};
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), out.prefix);
    if (error != std::errc() || end != digits.data() + digits.size() || out.prefix > most)
      return std::nullopt;
  }
  for (unsigned bit = out.prefix + (most == 32 ? kV4Offset : 0); bit < 128; ++bit) {
    if (has_bit(address->bytes(), bit)) return std::nullopt;
  }
  return out;
}

bool Network::contains(const IpAddress& other) const {
  // ::/3 holds every mapped address by its bits; an IPv4 address is of another family all the same.
  if (address.is_v4() != other.is_v4()) return false;
  const unsigned bits = prefix + (address.is_v4() ? kV4Offset : 0);
  for (unsigned bit = 0; bit < bits; ++bit) {
    if (has_bit(address.bytes(), bit) != has_bit(other.bytes(), bit)) return false;
  }
  return true;
}

bool Network::overlaps(const Network& other) const {
  const auto bits = [](const Network& one) {
    return one.prefix + (one.address.is_v4() ? kV4Offset : 0);
  };
  const unsigned least = std::min(bits(*this), bits(other));
  for (unsigned bit = 0; bit < least; ++bit) {
    if (has_bit(address.bytes(), bit) != has_bit(other.address.bytes(), bit)) return false;
  }
  return true;
}

std::string Network::text() const { return address.text() + "/" + std::to_string(prefix); }

std::span<const Network> special_networks() {
  static const std::vector<Network> all = [] {
    std::vector<Network> out;
    for (const char* text : kSpecial) {
      if (const auto network = Network::parse(text)) out.push_back(*network);
    }
    return out;
  }();
  return all;
}

bool is_special(const IpAddress& address) {
  return std::ranges::any_of(special_networks(),
                             [&](const Network& network) { return network.contains(address); });
}

std::vector<IpAddress> carried_by(const IpAddress& address) {
  std::vector<IpAddress> out;
  if (address.is_v4()) return out;
  static const std::vector<Network> networks = [] {
    std::vector<Network> all;
    for (const Carrying& one : kCarrying)
      all.push_back(Network::parse(one.network).value_or(Network()));
    return all;
  }();
  for (std::size_t i = 0; i < networks.size(); ++i) {
    if (!networks[i].contains(address)) continue;
    std::array<std::uint8_t, 4> bytes{};
    std::ranges::transform(kCarrying[i].at, bytes.begin(), [&](std::uint8_t at) {
      return static_cast<std::uint8_t>(address.bytes()[at] ^ (kCarrying[i].inverted ? 0xff : 0));
    });
    out.push_back(IpAddress::v4(bytes));
  }
  return out;
}

bool is_metadata(const IpAddress& address) {
  static const std::vector<IpAddress> all = [] {
    std::vector<IpAddress> out;
    for (const char* text : kMetadata) out.push_back(IpAddress::parse(text).value_or(IpAddress()));
    return out;
  }();
  return std::ranges::find(all, address) != all.end() ||
         std::ranges::any_of(carried_by(address), is_metadata);
}

bool is_opened(const IpAddress& address, std::span<const Network> networks) {
  const bool alone = is_metadata(address);
  const std::vector<IpAddress> carried = carried_by(address);
  return std::ranges::any_of(networks, [&](const Network& network) {
    if (!network.contains(address)) return false;
    if (network.is_one_address()) return true;
    return !alone && std::ranges::all_of(carried, [&](const IpAddress& one) {
      return !is_special(one) || is_opened(one, networks);
    });
  });
}

bool is_opened_by_itself(const IpAddress& address, std::span<const Network> networks) {
  return std::ranges::any_of(networks, [&](const Network& network) {
    return network.is_one_address() && network.contains(address);
  });
}

std::string_view kind_of(const IpAddress& address) {
  if (is_metadata(address)) return "a cloud's metadata service";
  for (const Kind& kind : kKinds) {
    if (Network::parse(kind.network)->contains(address)) return kind.name;
  }
  for (const IpAddress& one : carried_by(address)) {
    if (const std::string_view kind = kind_of(one); !kind.empty()) return kind;
  }
  return is_special(address) ? "a reserved address" : std::string_view();
}

}  // namespace cay
