// Utf8Locale: while it lives, libarchive takes names for UTF-8 text in this thread (uselocale(3)).
//
// In the C locale libarchive has no text for a name that is not ASCII. A writer of pax archives
// then ends the process (3.6, with the header charset BINARY), or writes a header with a keyword
// that other programs complain about. Most names are UTF-8, and the others go in as the bytes that
// they are, with that keyword. On a host without such a locale all names that are not ASCII do.
#pragma once
#include <locale.h>

namespace cay {

class Utf8Locale {
 public:
  Utf8Locale() : utf8_(shared()), before_(utf8_ != nullptr ? ::uselocale(utf8_) : nullptr) {}
  ~Utf8Locale() {
    if (utf8_ != nullptr) ::uselocale(before_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  static locale_t shared() {
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return utf8;
  }
  locale_t utf8_;
  locale_t before_;
};

}  // namespace cay
