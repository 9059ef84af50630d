// Watched: bytes on their way to a sandbox, which are let through unless a secret is in them, however they are cut into
// pieces. How much is held back depends on how much came and on how long what is looked for is, never on what the bytes
// are: else whoever makes a server say a guess would see, by what comes late, how far the guess is right.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "model/sealed_box.h"
#include "vault/reflection.h"

namespace cay::vault {

class Watched {
 public:
  // `watch` outlives it, and may come to look for more.
  explicit Watched(const ReflectionWatch& watch) : watch_(watch) {}

  // The bytes that may go on: all but the last, one less than the longest secret has. Nothing: there is a secret in
  // them; no byte of it was let through, unless by release(), and its last byte never.
  std::optional<std::string> pass(std::string piece);
  // What is held back goes on as it is: nothing more comes, or not soon. What comes then is still looked through
  // together with it.
  std::string release();
  bool holds_back() const { return held_ > 0; }

 private:
  const ReflectionWatch& watch_;
  Wiped last_;            // of what came, as much as a secret could begin in
  std::size_t held_ = 0;  // how many of these have not gone on
};

}  // namespace cay::vault
