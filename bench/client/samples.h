// Samples: the durations of one method, in the order of their measurement, and the failures.
#pragma once
#include <boost/json/object.hpp>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace cay::bench {

using Moment = std::chrono::steady_clock::time_point;

inline Moment now() { return std::chrono::steady_clock::now(); }
inline double microseconds_since(Moment begin) {
  return std::chrono::duration<double, std::micro>(now() - begin).count();
}

class Samples {
 public:
  void add(double microseconds) { microseconds_.push_back(microseconds); }
  void fail(std::string why);

  // {"microseconds": [...], "failures": N, "why": "the first failure's text"}
  boost::json::object report() const;

 private:
  std::vector<double> microseconds_;
  std::size_t failures_ = 0;
  std::string why_;
};

}  // namespace cay::bench
