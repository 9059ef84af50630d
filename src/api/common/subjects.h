// Subjects writes into one line of the audit log how many things a request acted on. The line has
// as many of their names as fit.
#pragma once
#include <cstddef>
#include <string>
#include <utility>

namespace cay::api {

class Subjects {
 public:
  explicit Subjects(std::string done, std::size_t most_bytes = kMostBytes)
      : done_(std::move(done)), most_bytes_(most_bytes) {}

  void add(const std::string& name) {
    ++count_;
    if (left_out_ > 0 || names_.size() + name.size() > most_bytes_) {
      ++left_out_;
      return;
    }
    names_ += (names_.empty() ? " " : ", ") + name;
  }
  // "deleted 3: a, b, c"
  std::string text() const {
    std::string out = done_ + " " + std::to_string(count_) + (count_ > 0 ? ":" : "") + names_;
    if (left_out_ > 0) out += " and " + std::to_string(left_out_) + " more";
    return out;
  }

 private:
  static constexpr std::size_t kMostBytes =
      1500;  // under what a line of the audit log has room for

  std::string done_, names_;
  std::size_t most_bytes_;
  std::size_t count_ = 0, left_out_ = 0;
};

}  // namespace cay::api
