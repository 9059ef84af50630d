#include "http/upgraded_connection.h"

#include <utility>

#include "http/raw_stream.h"

namespace cay::http {

asio::awaitable<bool> UpgradedConnection::end(int code, std::string why) {
  why_ = why;
  if (const auto socket = socket_.lock()) {
    co_await Socket::close_of(socket, code, std::move(why));
    co_return true;
  }
  const auto raw = raw_.lock();
  if (raw) RawStream::reset(*raw);
  co_return raw != nullptr;
}

void UpgradedConnection::note_raw_end(bool whole) {
  ended_ = whole ? "both sides had ended it" : "broken off";
  if (!whole && !why_.empty()) ended_ += " here: " + why_;
}

}  // namespace cay::http
