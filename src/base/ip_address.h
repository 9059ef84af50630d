// IpAddress, Network: addresses of both families in one form, and the ranges that are not the
// public internet.
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
  // The usual notations of inet_pton(3) and no others: "010.1" and "0x7f000001" are no addresses
  // here.
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
  // Whether they have an address in common, by the bits: of one that holds ::ffff:0:0/96, IPv4's
  // are its own too.
  bool overlaps(const Network& other) const;
  bool is_one_address() const { return prefix == (address.is_v4() ? 32U : 128U); }
  std::string text() const;
  bool operator==(const Network&) const = default;
};

// Returns private, shared, link-local, loopback, multicast, documentation, tunnelled and metadata
// ranges. Their addresses belong to the operator's own network or to nobody.
//
// Sources: IANA's special-purpose registries of both families. For IPv6 it is everything outside
// 2000::/3, and the transition mechanisms that carry an IPv4 address. 168.63.129.16 is the address
// at which one cloud serves its machines' settings.
std::span<const Network> special_networks();
bool is_special(const IpAddress& address);
// Returns the IPv4 addresses that packets to an IPv6 address may reach, on a host or behind a
// router that translates or tunnels: NAT64 (RFC 6052, RFC 8215), 6to4, Teredo, SIIT, and the
// IPv4-compatible form. If a form can be read in several ways, it returns all of them.
std::vector<IpAddress> carried_by(const IpAddress& address);
// Returns true for the addresses, in any form, at which clouds serve their machines' settings and
// credentials. All of them are special.
bool is_metadata(const IpAddress& address);
// Returns true if one of `networks` opens the address. Only its own address opens a metadata
// service, in the form that is used: an operator who opens a range around it does not mean to give
// out the host's credentials. If a special IPv4 address is carried, that address must be open as
// well.
bool is_opened(const IpAddress& address, std::span<const Network> networks);
// Whether one of `networks` is this address and no other: so an operator opens what a range would
// not, this host's own addresses among them.
bool is_opened_by_itself(const IpAddress& address, std::span<const Network> networks);
// Returns the kind of a special address for people: "a private address", "a link-local address" ….
// It is empty for other addresses.
std::string_view kind_of(const IpAddress& address);

}  // namespace cay
