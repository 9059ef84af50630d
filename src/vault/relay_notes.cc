#include "vault/relay_notes.h"

#include <utility>

namespace cay::vault {
namespace {

constexpr std::chrono::seconds kTellEvery{1};
constexpr std::uint64_t kTellEach = 256 << 10;  // bytes: they may be bounded

}  // namespace

RelayNotes::RelayNotes(Tell tell, const std::string& host, std::uint16_t port)
    : tell_(std::move(tell)) {
  of(host, port);
}

void RelayNotes::of(const std::string& host, std::uint16_t port) {
  word_.host = host;
  word_.port = port;
  rule_.clear();
}

void RelayNotes::asked_of(const std::string& rule, const std::string& host, std::uint16_t port) {
  of(host, port);
  rule_ = rule;
}

void RelayNotes::opened() {
  news_ = true;
  flush();
}

void RelayNotes::failed(const std::string& reason) {
  news_ = reason != "guest_gone";
  if (news_) word_.reason = reason;
  flush();
}

void RelayNotes::refuse(const Error& why) {
  if (why.reason == "guest_gone" || why.reason == "deadline_exceeded") return;
  word_.reason = why.reason;
  word_.refused = why.code == Code::kPermissionDenied || why.code == Code::kInvalidArgument;
  news_ = true;
  word_.rule = std::exchange(rule_, {});
  // A request that was not sent has no address. The stored one belongs to the request before it
  // on this connection.
  auto before = word_.rule.empty() ? word_.address : std::exchange(word_.address, {});
  flush();
  word_.address = std::move(before);
}

void RelayNotes::flush() {
  if (stopped_ || (!news_ && word_.sent == 0 && word_.received == 0)) return;
  word_.opened = std::exchange(news_, false);
  tell_(word_);
  word_.reason.clear();
  word_.rule.clear();
  word_.refused = false;
  word_.sent = word_.received = 0;
  told_at_ = std::chrono::steady_clock::now();
}

void RelayNotes::flush_in_time() {
  if (word_.sent + word_.received >= kTellEach ||
      std::chrono::steady_clock::now() - told_at_ >= kTellEvery)
    flush();
}

}  // namespace cay::vault
