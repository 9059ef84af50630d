#include "samples.h"

#include <boost/json/array.hpp>

namespace cay::bench {

void Samples::fail(std::string why) {
  if (failures_++ == 0) why_ = std::move(why);
}

boost::json::object Samples::report() const {
  boost::json::array all(microseconds_.begin(), microseconds_.end());
  return {{"microseconds", std::move(all)}, {"failures", failures_}, {"why", why_}};
}

}  // namespace cay::bench
