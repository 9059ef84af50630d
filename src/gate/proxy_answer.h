// ProxyAnswer: what a proxy says to CONNECT (RFC 9110, section 9.3.6). A yes has no body, whatever its head says: what follows the
// head is the other side's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace cay::gate {

class ProxyAnswer {
 public:
  static constexpr std::size_t kMostHead = 16 * 1024;  // bytes, of all its heads

  enum class State : std::uint8_t {
    kMore,     // it goes on
    kYes,      // the connection leads to the other side from here on
    kNo,       // status() says how
    kNotHttp,  // or a head that is too long
  };

  ProxyAnswer();
  ~ProxyAnswer();

  // Takes what belongs to the answer off the front of `in`. Interim answers (100, 103) are passed over. Not to be called again once it
  // did not say kMore.
  State read(std::string& in);
  // Of the last head that was whole; 0: none was.
  unsigned status() const { return status_; }

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  std::size_t taken_ = 0;
  unsigned status_ = 0;
};

}  // namespace cay::gate
