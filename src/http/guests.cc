#include "http/guests.h"

#include <utility>

namespace cay::http {

void Guests::enter(Guest& guest) {
  if (++size_ > most_) {
    while (!strangers_.empty() && strangers_.front()->refused)
      give_way(*strangers_.front());  // it has no place to give
    if (strangers_.empty()) {
      guest.refused = true;
    } else {
      give_way(*strangers_.front());
    }
  }
  guest.place = strangers_.insert(strangers_.end(), &guest);
  guest.list = Guest::In::kStrangers;
}

void Guests::leave(Guest& guest) {
  out_of_its_list(guest);
  shares_.give_back(guest.caller);
  --size_;
}

void Guests::out_of_its_list(Guest& guest) {
  const auto list = std::exchange(guest.list, Guest::In::kNone);
  if (list == Guest::In::kStrangers) strangers_.erase(guest.place);
  if (list == Guest::In::kKnown) known_.erase(guest.place);
}

void Guests::give_way(Guest& guest) {
  out_of_its_list(guest);
  ErrorCode ignored;  // its coroutine sees the end, and closes it
  if (guest.transport != nullptr)
    guest.transport->socket().shutdown(asio::socket_base::shutdown_both, ignored);
}

Result<void> Guests::let_in(Guest& guest, Caller caller) {
  CAY_TRY(const auto gives_up, shares_.take(guest.caller, std::move(caller)));
  if (guest.list == Guest::In::kStrangers) {
    known_.splice(known_.end(), strangers_, guest.place);
    guest.list = Guest::In::kKnown;
  }
  if (gives_up) take_from(*gives_up, guest);
  return {};
}

// One of `share`'s connections ends: the oldest that waits for a request, or else the newest. It
// counts no more from now on.
void Guests::take_from(const Share& share, const Guest& newcomer) {
  Guest* chosen = nullptr;
  for (Guest* one : known_) {
    if (one == &newcomer || !one->caller || share_of(*one->caller) != share) continue;
    chosen = one;
    if (one->at_work.expired()) break;
  }
  if (chosen == nullptr) return;
  shares_.give_back(chosen->caller);
  if (auto exchange = chosen->at_work.lock()) {
    out_of_its_list(*chosen);
    end_at_work_(std::move(exchange));
  } else {
    give_way(*chosen);
  }
}

}  // namespace cay::http
