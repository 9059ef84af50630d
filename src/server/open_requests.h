// OpenRequests: the requests at work that a key let in. They end with it.
#pragma once
#include <functional>
#include <list>
#include <memory>
#include <utility>

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
  using All = std::list<Open>;
  // The entry of one request while it is at work. It may outlive the OpenRequests.
  class Place {
   public:
    Place() = default;
    Place(std::shared_ptr<All> all, const KeyHash& key, End end)
        : all_(std::move(all)), at_(all_->insert(all_->end(), {key, std::move(end)})) {}
    Place(Place&& other) noexcept = default;
    Place& operator=(Place&& other) noexcept {
      std::swap(all_, other.all_);
      std::swap(at_, other.at_);
      return *this;
    }
    ~Place() {
      if (all_) all_->erase(at_);
    }

   private:
    std::shared_ptr<All> all_;
    All::iterator at_;
  };

  // `end` is called once, if the key goes first.
  Place add(const KeyHash& key, End end) { return {all_, key, std::move(end)}; }
  // The keys were read again.
  void end_without_key(const KeyRing& keys);

 private:
  std::shared_ptr<All> all_ = std::make_shared<All>();
  Scope ending_;
};

}  // namespace cay::server
