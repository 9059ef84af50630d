// ReflectionWatch: finds secrets in text, in all the ways in which they may be written (written.h) and laid out
// (normaliser.h), in one pass however many there are.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/sealed_box.h"
#include "vault/written.h"

namespace cay::vault {

// Whether there is enough of it to be found in an answer, whatever stands around it: at least kLeastWritten bytes, without what layouts leave out.
bool can_be_found(std::string_view secret);

// Of values that a host was sent by others, or before, no more is held back than of a secret of so many bytes (written.h): that much of a longer one's end stays out.
inline constexpr std::size_t kMostHeldOfFormer = 64 * kMostRoom;

// A copy has the same tables, until it is to look for more.
class ReflectionWatch {
 public:
  // Again is no harm.
  void look_for(std::string_view secret);

  bool holds(std::string_view text) const;
  bool holds_normalised(std::string_view text) const;
  // The bytes of the longest that is looked for, normalised; 0: nothing is.
  std::size_t longest() const { return sought_ ? sought_->longest : 0; }
  // How many bytes a secret may take as it is written and laid out, of former ones kMostHeldOfFormer at most; 0: nothing is looked for. Known by its
  // length alone.
  std::size_t reach() const { return sought_ ? sought_->reach : 0; }
  bool has_tables_of(const ReflectionWatch& other) const { return sought_ == other.sought_; }

 private:
  friend class SharedWatches;
  struct Needles;
  using SharedNeedles = std::shared_ptr<const Needles>;
  using Secrets = std::map<std::string, SharedNeedles>;  // by their digests
  struct Sought {
    Sought(Secrets of, std::size_t reach);
    bool begins_one(std::string_view text) const;

    Secrets of;
    // By the last two bytes of a window of the shortest needle's size: how far the next one is that could be the
    // beginning of a needle.
    Wiped far;
    Wiped beginnings;  // a filter: a bit for the hash of each needle's first window
    Wiped windows;     // these, sorted
    std::size_t longest = 0, reach = 0;
  };
  std::shared_ptr<const Sought> sought_;  // null: nothing is looked for
};

// What is in use of watches and of each secret's needles: made once, however many connections look for them.
class SharedWatches {
 public:
  // One that looks for what `before` does, and for these.
  ReflectionWatch of(const ReflectionWatch& before, const std::vector<Wiped>& secrets);
  // One that looks for values of others, or former ones.
  ReflectionWatch of_former(const std::vector<Wiped>& values);
  std::size_t count() const;

 private:
  using Digests = std::set<std::string>;
  ReflectionWatch with(const ReflectionWatch& before, const std::vector<Wiped>& secrets, std::size_t most_held);
  ReflectionWatch::SharedNeedles needles_of(const std::string& digest, std::string_view secret);

  std::map<std::pair<Digests, std::size_t>, std::weak_ptr<const ReflectionWatch::Sought>> all_;  // by what they look for, and their reach
  std::map<std::string, std::weak_ptr<const ReflectionWatch::Needles>> needles_;
};

}  // namespace cay::vault
