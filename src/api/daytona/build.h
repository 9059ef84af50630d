// Sandboxes of a Dockerfile: builds the snapshot, and makes the sandbox once it is ready.
#pragma once
#include <chrono>
#include <memory>
#include <optional>

#include "api/daytona/control.h"
#include "api/daytona/create_json.h"

namespace cay::api::daytona {

// The sandbox, or the creation that goes on.
struct BuiltSandbox {
  std::optional<Sandbox> sandbox{};
  std::shared_ptr<Creation> creation{};
};

// Waits at most `patience` for the sandbox. The creation goes on whoever waits for it. One with
// the same claim that is under way is the same. Fails as Builds::build() and Sandboxes::create(),
// if that shows in time.
Task<BuiltSandbox> build_sandbox(std::shared_ptr<Control> control, ExchangePtr exchange,
                                 NewSandbox made, std::chrono::milliseconds patience);

// Makes it, or finds the one that holds its claim (create.cc).
Task<Sandbox> make_sandbox(core::Cay& cay, Principal who, SandboxSpec spec,
                           core::CreateOptions options);

// As sandbox_json() has it.
codec::json::object creation_json(const Creation& creation, const std::string& base);

}  // namespace cay::api::daytona
