// Counted: counts one up for as long as it lives.
#pragma once
#include <cstddef>

namespace cay::gate {

class Counted {
 public:
  explicit Counted(std::size_t& count) : count_(count) { ++count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --count_; }

 private:
  std::size_t& count_;
};

}  // namespace cay::gate
