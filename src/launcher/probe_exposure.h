// Openings of this host beside Cay that would make a small hole a large one, for doctor.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "wire/messages.h"

namespace cay::launcher {

struct ExposedHost {
  std::string data;  // the data directory, absolute
  uid_t daemon_uid = 0;
  gid_t daemon_gid = 0;
  std::string root;  // before the host's own paths; empty but in tests
};

std::vector<wire::FeatureMsg> probe_exposure(const ExposedHost& host);

}  // namespace cay::launcher
