// OpenRequests: the requests at work that a key let in. They end with it.
#pragma once
#include <functional>
#include <list>
#include <memory>

#include "async/scope.h"
#include "server/key_ring.h"

namespace cay::server {

class OpenRequests {
 public:
  explicit OpenRequests(asio::any_io_executor loop) : ending_(std::move(loop)) {}

  using End = std::function<asio::awaitable<void>()>;
  struct Open {
    KeyHash key;
    End end;
  };
  // Of one request, for as long as it is at work.
  class Place {
   public:
    Place() = default;
    Place(std::list<Open>& all, KeyHash key, End end) : all_(&all), at_(all.insert(all.end(), {key, std::move(end)})) {}
    Place(Place&& other) noexcept : all_(std::exchange(other.all_, nullptr)), at_(other.at_) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(all_, other.all_);
      std::swap(at_, other.at_);
      return *this;
    }
    ~Place() {
      if (all_ != nullptr) all_->erase(at_);
    }

   private:
    std::list<Open>* all_ = nullptr;
    std::list<Open>::iterator at_;
  };

  // `end` is called once, if the key goes first.
  Place add(const KeyHash& key, End end) { return {open_, key, std::move(end)}; }
  // The keys were read again.
  void end_without_key(const KeyRing& keys);

 private:
  std::list<Open> open_;
  Scope ending_;
};

}  // namespace cay::server
