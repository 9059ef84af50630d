#include "vault/response_scanner.h"

#include <algorithm>
#include <utility>

namespace cay::vault {

bool PatternScanner::finds_in(std::string_view piece) {
  if (piece.empty() || secrets_.longest() == 0) return false;
  Wiped all;
  all.bytes().reserve(tail_.view().size() + piece.size());
  all.bytes() = tail_.view();
  all.bytes() += piece;
  if (secrets_.finds_in(all.view())) {
    tail_.wipe();
    return true;
  }
  const std::size_t keep = std::min(all.view().size(), secrets_.longest() - 1);
  tail_ = Wiped(std::string(all.view().substr(all.view().size() - keep)));
  return false;
}

std::optional<std::string> ResponseScanner::pass(std::string piece) {
  Wiped text, asides;
  text.bytes().reserve(piece.size());
  asides.bytes().reserve(boundaries_.kind() == Kind::kMessages ? piece.size() : 0);
  boundaries_.read(piece, text.bytes(), asides.bytes());
  if (secrets_.longest() == 0) return piece;
  if (text_.finds_in(text.view()) || asides_.finds_in(asides.view())) {
    held_.wipe();
    wipe(piece);
    return std::nullopt;
  }
  piece.insert(0, held_.view());
  const std::size_t keep = std::min(piece.size(), secrets_.longest() - 1);
  held_ = Wiped(piece.substr(piece.size() - keep));
  piece.resize(piece.size() - keep);
  return piece;
}

std::string ResponseScanner::release_to_boundary() {
  if (!holds_boundary()) return {};
  const auto size = static_cast<std::size_t>(boundaries_.last() - begin_of_held());
  std::string out(held_.view().substr(0, size));
  held_ = Wiped(std::string(held_.view().substr(size)));
  return out;
}

std::string ResponseScanner::release() {
  std::string out(held_.view());
  held_.wipe();
  return out;
}

}  // namespace cay::vault
