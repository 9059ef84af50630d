// The daemon's request to compare the launcher's files of layers, as one more verb of the launcher
// (wire/messages.h): kCheckStore -> kStoreFinding..., kEof.
#pragma once
#include <cstdint>
#include <string>

#include "wire/tlv.h"

namespace cay::wire {

// Numbers of wire::Type, in its range of the launcher.
enum class StoreCheckType : std::uint16_t {
  kCheckStore = 130,    // CheckStore
  kStoreFinding = 131,  // StoreFindingMsg
};

struct CheckStore {
  bool repair = false;
  template <class V>
  void fields(V& v) {
    v(1, repair);
  }
};

// model/store_finding.h
struct StoreFindingMsg {
  std::string kind, subject, meaning, remedy;
  bool can_repair = false, repaired = false;
  template <class V>
  void fields(V& v) {
    v(1, kind);
    v(2, subject);
    v(3, meaning);
    v(4, remedy);
    v(5, can_repair);
    v(6, repaired);
  }
};

}  // namespace cay::wire
