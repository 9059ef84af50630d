// Produced: a caller's producer of bytes as a stream. It runs on the client's thread. An exception
// of the producer is kept for the caller's own thread.
#pragma once
#include <exception>
#include <utility>

#include "async/task.h"
#include "cay/client.h"

namespace cay::client {

class Produced : public ByteSource {
 public:
  Produced(sdk::ByteProducer produce, std::exception_ptr& thrown)
      : produce_(std::move(produce)), thrown_(thrown) {}
  Task<Bytes> next() override {
    try {
      co_return produce_();
    } catch (...) {
      thrown_ = std::current_exception();
    }
    co_return Error{Code::kCancelled, "producer_failed", "the producer of the bytes threw", 0};
  }

 private:
  sdk::ByteProducer produce_;
  std::exception_ptr& thrown_;
};

}  // namespace cay::client
