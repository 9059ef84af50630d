// ReflectionWatch: looks for secrets in bytes that go to a sandbox, however they are cut into pieces. What might be the beginning of
// one is held back until it is known not to be.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/sealed_box.h"

namespace cay::vault {

class ReflectionWatch {
 public:
  // Also as it is written in base64, alone and where it stands within something else.
  void look_for(std::string_view secret);

  // The bytes that may go on; nothing: there is a secret in them, and no byte of it was let through.
  std::optional<std::string> pass(std::string piece);
  // What was held back, at the end.
  std::string rest();
  bool holds(std::string_view text) const;

 private:
  std::size_t beginning_of_one(std::string_view bytes) const;
  std::vector<Wiped> needles_;
  Wiped held_;
};

}  // namespace cay::vault
