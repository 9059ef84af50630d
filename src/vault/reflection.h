// ReflectionWatch: finds secrets in text, in all the ways in which they may be written (written.h) and laid out
// (normaliser.h), in one pass however many there are.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/sealed_box.h"

namespace cay::vault {

// Whether there is enough of it to be found in an answer, whatever stands around it: at least kLeastWritten bytes, without what layouts leave out.
bool can_be_found(std::string_view secret);

// A copy has the same tables, until it is to look for more.
class ReflectionWatch {
 public:
  // Again is no harm.
  void look_for(std::string_view secret);

  bool holds(std::string_view text) const;
  bool holds_normalised(std::string_view text) const;
  // The bytes of the longest that is looked for, normalised; 0: nothing is.
  std::size_t longest() const { return sought_ ? sought_->longest : 0; }
  // How many bytes a secret may take as it is written and laid out; 0: nothing is looked for. Known by its length
  // alone.
  std::size_t reach() const { return sought_ ? sought_->reach : 0; }
  bool has_tables_of(const ReflectionWatch& other) const { return sought_ == other.sought_; }

 private:
  friend class SharedWatches;
  struct Sought {
    Sought();
    Sought(const Sought& other);
    Sought& operator=(const Sought&) = delete;
    void add_secret(std::string_view secret);
    void sort();  // once all are there
    void add_normalised(std::string_view way);
    void add(Wiped needle);
    bool begins_one(std::string_view text) const;

    std::vector<Wiped> needles;  // sorted
    // By the last two bytes of a window of the shortest needle's size: how far the next one is that could be the
    // beginning of a needle.
    Wiped far;
    Wiped beginnings;  // a filter: a bit for the hash of each needle's first window
    std::size_t longest = 0, reach = 0;
    std::set<std::string> of;  // digests of the secrets, where it is shared
  };
  std::shared_ptr<Sought> sought_;  // null: nothing is looked for
};

// The watches that are in use: one of each set of secrets, however many connections look for them.
class SharedWatches {
 public:
  // One that looks for what `before` does, and for these.
  ReflectionWatch of(const ReflectionWatch& before, const std::vector<Wiped>& secrets);
  std::size_t count() const;

 private:
  std::map<std::set<std::string>, std::weak_ptr<ReflectionWatch::Sought>> all_;  // by Sought::of
};

}  // namespace cay::vault
