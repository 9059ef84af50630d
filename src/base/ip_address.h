// IpAddress, Network: addresses of both families in one form, and the ranges that are not the public internet.
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cay {

// IPv4 is held as ::ffff:a.b.c.d, so that the mapped form of an address is that address.
class IpAddress {
 public:
  IpAddress() = default;  // ::
  static IpAddress v4(std::span<const std::uint8_t, 4> bytes);
  static IpAddress v6(std::span<const std::uint8_t, 16> bytes);
  // The usual notations of inet_pton(3) and no others: "010.1" and "0x7f000001" are no addresses here.
  static std::optional<IpAddress> parse(std::string_view text);

  bool is_v4() const;
  std::span<const std::uint8_t, 4> v4_bytes() const;
  const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
  std::string text() const;
  auto operator<=>(const IpAddress&) const = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

struct Network {
  IpAddress address;
  unsigned prefix = 0;  // of the address's own family

  // ADDRESS or ADDRESS/PREFIX. Bits after the prefix must be zero.
  static std::optional<Network> parse(std::string_view text);
  bool contains(const IpAddress& other) const;
  // Whether they have an address in common, by the bits: of one that holds ::ffff:0:0/96, IPv4's are its own too.
  bool overlaps(const Network& other) const;
  bool is_one_address() const { return prefix == (address.is_v4() ? 32U : 128U); }
  std::string text() const;
  bool operator==(const Network&) const = default;
};

// Private, shared, link-local, loopback, multicast, documentation, tunnelled and metadata ranges: what is
// reached there is the operator's own, or nobody's. Sources: IANA's special-purpose registries of both families; of IPv6
// everything outside 2000::/3, the transition mechanisms that carry an IPv4 address in it included; 168.63.129.16 is
// where one cloud serves its machines' settings.
std::span<const Network> special_networks();
bool is_special(const IpAddress& address);
// The IPv4 addresses that what is sent to an IPv6 address may end at, on a host or behind a router that translates or tunnels: of NAT64
// (RFC 6052, RFC 8215), 6to4, Teredo, SIIT, and the IPv4-compatible form. Where a form can be read in several ways, all of them.
std::vector<IpAddress> carried_by(const IpAddress& address);
// Where clouds serve their machines' settings and credentials, in whatever form. All are special.
bool is_metadata(const IpAddress& address);
// Whether one of `networks` opens the address. A metadata service is opened by its own address alone, in the form that is used: who opens a
// range that it happens to lie in does not mean to give out the host's credentials. Where a special IPv4 address is carried, that must be open as well.
bool is_opened(const IpAddress& address, std::span<const Network> networks);
// Whether one of `networks` is this address and no other: so an operator opens what a range would not, this host's own addresses among them.
bool is_opened_by_itself(const IpAddress& address, std::span<const Network> networks);
// What an address is, for people: "a private address", "a link-local address", ... Of one that is not special: empty.
std::string_view kind_of(const IpAddress& address);

}  // namespace cay
