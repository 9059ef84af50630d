// ProxyAnswer: a proxy's response to CONNECT (RFC 9110, section 9.3.6). A success has no body,
// whatever its head announces: the bytes after the head come from the server.
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

  // Takes the answer's bytes off the front of `in`. Interim answers (100, 103) are skipped. Must
  // not be called again after a result other than kMore.
  State read(std::string& in);
  // The status of the last whole head; 0: there was none.
  unsigned status() const { return status_; }

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  std::size_t taken_ = 0;
  unsigned status_ = 0;
};

}  // namespace cay::gate
