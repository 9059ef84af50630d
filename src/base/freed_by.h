// FreedBy: a deleter for std::unique_ptr out of a C library's own function.
#pragma once

namespace cay {

template <auto Free>
struct FreedBy {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};

}  // namespace cay
