#include "http/channel.h"

namespace cay::http {

void Channel::start_read(const InBuffers& into, OnBytes on_bytes) {
  if (secured_) {
    secured_->async_read_some(into, std::move(on_bytes));
  } else {
    transport_->async_read_some(into, std::move(on_bytes));
  }
}

void Channel::start_write(const OutBuffers& from, OnBytes on_bytes) {
  if (secured_) {
    secured_->async_write_some(from, std::move(on_bytes));
  } else {
    transport_->async_write_some(from, std::move(on_bytes));
  }
}

}  // namespace cay::http
