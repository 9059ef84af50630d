// Boxes as LangSmith writes them down (protocol reference, section 2.3).
#pragma once
#include <string>

#include "api/langsmith/config.h"
#include "codec/fields.h"
#include "core/cay.h"
#include "core/verbs/sandboxes.h"
#include "model/sandbox.h"

namespace cay::api::langsmith {

// `base` is scheme, host and prefix as this client sees them: the data plane's URL begins with it.
// A paused one reads "stopped", which these clients know to start. Its message has the difference.
std::string_view status_text(const Sandbox& sandbox);
codec::json::value status_message(const Sandbox& sandbox);
codec::json::object box_json(const Sandbox& sandbox, const std::string& base);

struct CreateBox {
  SandboxSpec spec;
  core::CreateOptions options;
};
// Complaints go to `fields` (422 with a list). An Error is something else: bad combination (400),
// more than the maximum (429).
Result<CreateBox> read_create_box(codec::Fields& fields, const Limits& maximum);
Result<SandboxPatch> read_patch_box(codec::Fields& fields, const Limits& maximum);
// {user?, work_dir?, env_vars?}
codec::json::object run_json(const RunConfig& run);
void read_run_config(codec::Fields& fields, std::string_view name, RunConfig& run);

// The prefix of this request's path up to and including "sandboxes", with scheme and host.
std::string base_url(const http::RequestHead& head);

}  // namespace cay::api::langsmith
