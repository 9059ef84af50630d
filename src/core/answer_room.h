// AnswerRoom: bounds the bytes of answers that are whole in the daemon's memory before they are
// sent. It counts answers in the making and those with a slow reader. A tenant has at most half of
// what the others leave, so that no tenant keeps another from its answers.
#pragma once
#include <cstdint>
#include <map>
#include <memory>

#include "base/result.h"
#include "model/ids.h"

namespace cay::core {

inline constexpr const char* kTooManyAnswers = "too_many_answers";

class AnswerRoom {
  struct State {
    explicit State(std::uint64_t bytes) : most(bytes) {}
    const std::uint64_t most;
    std::uint64_t held = 0;
    std::map<TenantId, std::uint64_t> of_tenant;
  };

 public:
  explicit AnswerRoom(std::uint64_t most) : state_(std::make_shared<State>(most)) {}

  // The bytes of one answer, held until this is destroyed. It may outlive the room.
  class Part {
   public:
    Part(std::shared_ptr<State> state, TenantId tenant)
        : state_(std::move(state)), tenant_(std::move(tenant)) {}
    ~Part() { hold(0); }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    // Whether it could hold so many bytes in all now. kExhausted (too_many_answers).
    Result<void> check(std::uint64_t bytes) const;
    // From now on so many, if that can be; else it holds what it held.
    Result<void> need(std::uint64_t bytes);
    // From now on so many, whether or not there is room.
    void hold(std::uint64_t bytes);

   private:
    std::shared_ptr<State> state_;
    TenantId tenant_;
    std::uint64_t bytes_ = 0;
  };
  std::shared_ptr<Part> begin(TenantId tenant) const {
    return std::make_shared<Part>(state_, std::move(tenant));
  }

  std::uint64_t held() const { return state_->held; }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace cay::core
