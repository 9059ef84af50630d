#include "vault/watched.h"

#include <algorithm>
#include <utility>

namespace cay::vault {

std::optional<std::string> Watched::pass(std::string piece) {
  const std::size_t longest = watch_.longest();
  if (longest == 0) return piece;
  const std::size_t gone = last_.view().size() - held_;
  piece.insert(0, last_.view());
  last_.wipe();
  if (watch_.holds(piece)) {
    held_ = 0;
    wipe(piece);
    return std::nullopt;
  }
  const std::size_t keep = std::min(piece.size(), longest - 1);
  last_ = Wiped(piece.substr(piece.size() - keep));
  held_ = std::min(keep, piece.size() - gone);
  piece.resize(piece.size() - held_);
  piece.erase(0, gone);
  return piece;
}

std::string Watched::release() {
  const std::string_view all = last_.view();
  return std::string(all.substr(all.size() - std::exchange(held_, 0)));
}

}  // namespace cay::vault
