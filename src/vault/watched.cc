#include "vault/watched.h"

#include <algorithm>
#include <utility>

namespace cay::vault {

bool LookedThrough::finds_in(std::string_view text) {
  if (text.empty()) return false;
  Wiped all;
  all.bytes().reserve(last_.view().size() + text.size());
  all.bytes() = last_.view();
  normaliser_.add(text, all.bytes());
  if (watch_.holds_normalised(all.view())) {
    last_.wipe();
    return true;
  }
  const std::size_t keep = std::min(all.view().size(), watch_.longest());  // its last byte may yet be taken back
  last_ = Wiped(std::string(all.view().substr(all.view().size() - keep)));
  return false;
}

std::optional<std::string> Watched::pass(std::string piece) {
  Wiped text, asides;
  text.bytes().reserve(piece.size());
  asides.bytes().reserve(seams_.kind() == Seams::Kind::kMessages ? piece.size() : 0);
  seams_.read(piece, text.bytes(), asides.bytes());
  if (watch_.reach() == 0) return piece;
  if (text_.finds_in(text.view()) || asides_.finds_in(asides.view())) {
    held_.wipe();
    wipe(piece);
    return std::nullopt;
  }
  piece.insert(0, held_.view());
  const std::size_t keep = std::min(piece.size(), watch_.reach() - 1);
  held_ = Wiped(piece.substr(piece.size() - keep));
  piece.resize(piece.size() - keep);
  return piece;
}

std::string Watched::release_to_seam() {
  if (!holds_a_seam()) return {};
  const auto size = static_cast<std::size_t>(seams_.last() - begin_of_held());
  std::string out(held_.view().substr(0, size));
  held_ = Wiped(std::string(held_.view().substr(size)));
  return out;
}

std::string Watched::release() {
  std::string out(held_.view());
  held_.wipe();
  return out;
}

}  // namespace cay::vault
