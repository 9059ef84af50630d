// Names records the addresses that a sandbox got for each name, so that the gate finds the names of
// an address that is dialled.
#pragma once
#include <cstddef>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "base/ip_address.h"

namespace cay::gate {

class Names {
 public:
  static constexpr std::size_t kMost = 1024;  // the longest unused goes
  static constexpr std::size_t kMostOfOne =
      16;  // that an address is known by: each is looked at by every rule

  void note(const std::string& name, const std::vector<IpAddress>& addresses);
  // The latest first.
  std::vector<std::string> of(const IpAddress& address, std::size_t most = kMostOfOne) const;

 private:
  struct Entry {
    std::string name;
    std::vector<IpAddress> addresses;
  };
  std::list<Entry> entries_;  // the latest first
  std::map<std::string, std::list<Entry>::iterator> by_name_;
};

}  // namespace cay::gate
