// ReflectionWatch: finds secrets in text, in all the ways in which they may be written (written.h) and laid out
// (normaliser.h), in one pass however many there are.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "model/sealed_box.h"

namespace cay::vault {

class ReflectionWatch {
 public:
  // Again is no harm.
  void look_for(std::string_view secret);

  bool holds(std::string_view text) const;
  bool holds_normalised(std::string_view text) const;
  // The bytes of the longest that is looked for, normalised; 0: nothing is.
  std::size_t longest() const { return longest_; }
  // How many bytes a secret may take as it is written and laid out; 0: nothing is looked for. Known by its length
  // alone.
  std::size_t reach() const { return reach_; }

 private:
  void add_normalised(std::string_view way);
  void add(Wiped needle);
  bool begins_one(std::string_view text) const;

  std::vector<Wiped> needles_;  // sorted
  // By the last two bytes of a window of the shortest needle's size: how far the next one is that could be the
  // beginning of a needle.
  Wiped far_;
  Wiped beginnings_;  // a filter: a bit for the hash of each needle's first window
  std::size_t longest_ = 0, reach_ = 0;
};

}  // namespace cay::vault
