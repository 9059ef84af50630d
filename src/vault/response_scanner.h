// ResponseScanner: streams a server's response to the sandbox, and stops when it contains a secret.
//
// It always holds back the last `longest - 1` bytes, where `longest` is what a secret takes at most
// in its encodings. The amount never depends on the content or on the time. To hold back only
// possible matches would let an attacker recover the secret byte by byte from the delay.
// The one exception is the end of a message (message_boundaries.h): in a pause of the server the
// scanner releases what stands before it.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "model/sealed_box.h"
#include "vault/message_boundaries.h"
#include "vault/secret_matcher.h"

namespace cay::vault {

// PatternScanner: looks for secrets in one text that arrives in pieces.
class PatternScanner {
 public:
  explicit PatternScanner(const SecretMatcher& secrets) : secrets_(secrets) {}
  // Returns whether a secret ends in `piece`, which follows the earlier pieces.
  bool finds_in(std::string_view piece);

 private:
  const SecretMatcher& secrets_;
  Wiped tail_;  // of the earlier pieces, as much as a secret can begin in
};

class ResponseScanner {
 public:
  using Kind = MessageBoundaries::Kind;

  // `secrets` outlives the scanner, and may come to look for more.
  explicit ResponseScanner(const SecretMatcher& secrets, Kind boundaries = Kind::kNone)
      : secrets_(secrets), boundaries_(boundaries), text_(secrets), asides_(secrets) {}

  // Takes the next piece and returns the bytes that may go to the sandbox: all but the last ones.
  //
  // Returns nothing if the response contains a secret. No byte of the secret was released before,
  // unless it takes more than `longest` bytes or stands across a boundary. Its last byte never was.
  std::optional<std::string> pass(std::string piece);
  // The server pauses: returns what is held back before the last boundary.
  std::string release_to_boundary();
  bool holds_boundary() const { return boundaries_.last() > begin_of_held(); }
  // The response has ended: returns all that is held back.
  std::string release();
  bool holds_back() const { return !held_.view().empty(); }

 private:
  std::uint64_t begin_of_held() const { return boundaries_.received() - held_.view().size(); }

  const SecretMatcher& secrets_;
  MessageBoundaries boundaries_;
  PatternScanner text_, asides_;
  Wiped held_;
};

}  // namespace cay::vault
