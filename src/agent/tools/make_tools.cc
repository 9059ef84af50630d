#include "agent/tools/make_tools.h"

#include <utility>

#include "agent/tools/kit.h"
#include "agent/tools/permission_mounts.h"
#include "base/assert.h"

namespace cay::agent {
namespace {

class BuiltIn final : public Tool {
 public:
  BuiltIn(KitPtr kit, ToolSpec spec, Repeat repeat, ToolBody body, ToolStop stop)
      : kit_(std::move(kit)), spec_(std::move(spec)), repeat_(repeat), body_(body), stop_(stop) {}

  const ToolSpec& spec() const override { return spec_; }
  Repeat repeat() const override { return repeat_; }
  Task<ToolResult> run(json::object arguments, ToolContext context) override {
    return body_(kit_, std::move(arguments), std::move(context));
  }
  Task<std::optional<ToolResult>> stop(json::object arguments, ToolContext context) override {
    if (stop_ == nullptr) return Tool::stop(std::move(arguments), std::move(context));
    return stop_(kit_, std::move(arguments), std::move(context));
  }

 private:
  KitPtr kit_;
  ToolSpec spec_;
  Repeat repeat_;
  ToolBody body_;
  ToolStop stop_;
};

}  // namespace

std::shared_ptr<Tool> built_in(KitPtr kit, ToolSpec spec, Repeat repeat, ToolBody body,
                               ToolStop stop) {
  return std::make_shared<BuiltIn>(std::move(kit), std::move(spec), repeat, body, stop);
}

bool is_infrastructure(const Error& error) {
  switch (error.code) {
    case Code::kUnauthenticated:
    case Code::kUnavailable:
    case Code::kLost:
    case Code::kInternal:
    case Code::kCancelled: return true;
    case Code::kNotReady: return error.reason.starts_with("sandbox_");
    case Code::kInvalidArgument:
    case Code::kPermissionDenied:
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kConflict:
    case Code::kExhausted:
    case Code::kDeadlineExceeded:
    case Code::kOutOfRange:
    case Code::kUnsupported: return false;
  }
  return true;
}

ToolResult refused(std::string_view message) {
  return ToolResult::failure("Error: " + std::string(message));
}

namespace {

// Refuses rules that bind the file tools and not the commands of this backend.
Result<void> check_mounts(providers::Backend& backend,
                          const std::vector<FilesystemPermission>& rules) {
  if (rules.empty()) return {};
  CAY_TRY(providers::PathRules wanted, mounts_of(rules));
  if (!backend.features().hides_paths) {
    return providers::refuse_paths({.paths = std::move(wanted)}, backend.provider());
  }
  const std::string open = providers::first_not_held(wanted, backend.path_rules());
  if (open.empty()) return {};
  return Error{Code::kUnsupported, "permissions_need_mounts",
               "the sandbox " + backend.id() + " has no rule on " + open +
                   ", so a command could go round it: stop it and give it the rule (cay set), or "
                   "begin another thread",
               0};
}

}  // namespace

Result<Tools> checked_tools(std::shared_ptr<providers::Backend> backend, ToolOptions options) {
  CAY_CHECK(check_mounts(*backend, options.permissions));
  CAY_TRY(auto permissions, FilePermissions::create(options.permissions));
  auto kit = std::make_shared<Kit>();
  // On this host "/" is the host's own root, so a bare name belongs to the working directory.
  if (backend->provider() == "local") kit->base = backend->workdir();
  kit->backend = std::move(backend);
  kit->options = std::move(options);
  kit->permissions = std::move(permissions);
  Tools tools;
  add_file_tools(tools, kit);
  add_search_tools(tools, kit);
  add_command_tools(tools, kit);
  if (kit->options.todos) add_todo_tool(tools, kit);
  add_web_tools(tools, kit);
  return tools;
}

Tools make_tools(std::shared_ptr<providers::Backend> backend, ToolOptions options) {
  auto made = checked_tools(std::move(backend), std::move(options));
  CAY_ASSERT(made);
  return *std::move(made);
}

}  // namespace cay::agent
