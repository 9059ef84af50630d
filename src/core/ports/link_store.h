// The link port: rights that survive the daemon. Part of the store; a link goes with its sandbox's
// row.
#pragma once
#include <vector>

#include "base/result.h"
#include "model/link.h"

namespace cay::core {

class LinkStore {
 public:
  virtual ~LinkStore() = default;

  // kNotFound if the sandbox has no row any more.
  virtual Result<void> put_link(const Link& link) = 0;
  // In one transaction; what is not there is no error.
  virtual Result<void> erase_links(const std::vector<LinkId>& ids) = 0;
  virtual Result<std::vector<Link>> links() = 0;  // every tenant's, at start
};

}  // namespace cay::core
