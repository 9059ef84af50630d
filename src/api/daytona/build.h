// Sandboxes of a Dockerfile: builds the snapshot, and makes the sandbox once it is ready.
#pragma once
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

// The sandbox comes at once if its snapshot was built before. Else the creation goes on, and
// clients look at its state. A creation with the same claim that is under way is the same. Fails as
// Builds::build() and Sandboxes::create().
Task<BuiltSandbox> build_sandbox(std::shared_ptr<Control> control, ExchangePtr exchange,
                                 NewSandbox made);

// Refuses another name for a thread's sandbox (kConflict, thread_in_use).
Result<void> check_name_of_thread(const std::string& asked, const std::string& found);

// Makes it, or finds the one that holds its claim (create.cc).
Task<Sandbox> make_sandbox(core::Cay& cay, Principal who, SandboxSpec spec,
                           core::CreateOptions options);

// As sandbox_json() has it.
codec::json::object creation_json(const Creation& creation, const std::string& base);

}  // namespace cay::api::daytona
