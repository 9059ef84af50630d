// Watched: bytes on their way to a sandbox, which are let through unless a secret is in them, however they are cut into
// pieces. How much is held back depends on how much came, on how long what is looked for is, and on where events, lines
// or messages end, never on what else the bytes are: else whoever makes a server say a guess would see, by what comes
// late, how far the guess is right. Nor on when they came, beyond such an end: else whoever can make a server pause
// within a secret would have it up to there.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "model/sealed_box.h"
#include "vault/normaliser.h"
#include "vault/reflection.h"
#include "vault/seams.h"

namespace cay::vault {

// One text that comes in pieces, as it is looked through.
class LookedThrough {
 public:
  explicit LookedThrough(const ReflectionWatch& watch) : watch_(watch) {}
  // Whether a secret ends in `text`, which follows what came.
  bool finds_in(std::string_view text);

 private:
  const ReflectionWatch& watch_;
  Normaliser normaliser_;
  Wiped last_;  // as much of it as a secret could begin in
};

class Watched {
 public:
  // `watch` outlives it, and may come to look for more.
  explicit Watched(const ReflectionWatch& watch, Seams::Kind seams = Seams::Kind::kNone)
      : watch_(watch), seams_(seams), text_(watch), asides_(watch) {}

  // The bytes that may go on: all but the last, one less than a secret may take. Nothing: there is a secret in them; no
  // byte of it was let through, unless it was written at greater length or across a seam, and its last byte never.
  std::optional<std::string> pass(std::string piece);
  // Nothing more comes for now: what of that which is held back is before the last seam.
  std::string release_to_seam();
  bool holds_a_seam() const { return seams_.last() > begin_of_held(); }
  // Nothing more comes: all of it.
  std::string release();
  bool holds_back() const { return !held_.view().empty(); }

 private:
  std::uint64_t begin_of_held() const { return seams_.came() - held_.view().size(); }

  const ReflectionWatch& watch_;
  Seams seams_;
  LookedThrough text_, asides_;
  Wiped held_;  // the last that came, and has not gone on
};

}  // namespace cay::vault
