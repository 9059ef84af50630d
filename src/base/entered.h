// Entered: a value is in a set for as long as this lives.
#pragma once
#include <set>
#include <utility>

namespace cay {

template <class T>
class Entered {
 public:
  Entered(std::set<T>& all, T one) : all_(all), one_(std::move(one)) { all_.insert(one_); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  ~Entered() { all_.erase(one_); }

 private:
  std::set<T>& all_;
  const T one_;
};

}  // namespace cay
