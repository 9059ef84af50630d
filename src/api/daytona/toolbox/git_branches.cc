#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/git.h"
#include "api/daytona/toolbox/git_run.h"
#include "base/ascii.h"
#include "base/lines.h"

namespace cay::api::daytona {
namespace {

// A branch of a repository, as the body of a request names it.
struct BranchRequest {
  std::string path;
  std::string name;
};

Result<BranchRequest> branch_request_of(const codec::json::object& body, std::string_view member) {
  codec::Fields fields(body);
  BranchRequest out;
  if (!fields.read("path", out.path) || out.path.empty()) fields.complain("path", "is required");
  if (!fields.read(member, out.name) || out.name.empty()) fields.complain(member, "is required");
  CAY_CHECK(checked_body(fields));
  CAY_CHECK(check_git_name(out.name, "a branch's name"));
  return out;
}

}  // namespace

Task<http::Response> git_branches(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string path, needed_query(exchange, "path"));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  GitCall call{.args = {"for-each-ref", "--format=%(refname:short)", "refs/heads"},
               .directory = box.absolute(path)};
  CAY_CO_TRY(const std::string text, co_await run_git(cay, box, std::move(call)));
  codec::json::array branches;
  for (const std::string_view line : lines_of(text)) branches.emplace_back(codec::text(line));
  codec::json::object out{{"branches", std::move(branches)}};
  GitCall head{.args = {"symbolic-ref", "--quiet", "--short", "HEAD"},
               .directory = box.absolute(path)};
  CAY_CO_TRY(const RanProgram current, co_await try_git(cay, box, std::move(head)));
  if (current.exit_code == 0)  // otherwise the head is detached
    out["current"] = codec::text(trimmed(current.out, "\n"));
  co_return json_answer(200, out);
}

Task<http::Response> git_create_branch(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  CAY_CO_TRY(const BranchRequest request, branch_request_of(body, "name"));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  GitCall call{.args = {"branch", request.name}, .directory = box.absolute(request.path)};
  CAY_CO_TRY(const std::string done, co_await run_git(cay, box, std::move(call)));
  static_cast<void>(done);
  co_return empty_answer(201);
}

Task<http::Response> git_delete_branch(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  CAY_CO_TRY(const BranchRequest request, branch_request_of(body, "name"));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  GitCall call{.args = {"branch", "--quiet", "-D", request.name},
               .directory = box.absolute(request.path)};
  CAY_CO_TRY(const std::string done, co_await run_git(cay, box, std::move(call)));
  static_cast<void>(done);
  co_return empty_answer(204);
}

Task<http::Response> git_checkout(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  CAY_CO_TRY(const BranchRequest request, branch_request_of(body, "branch"));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  GitCall call{.args = {"checkout", "--quiet", request.name, "--"},
               .directory = box.absolute(request.path)};
  CAY_CO_TRY(const std::string done, co_await run_git(cay, box, std::move(call)));
  static_cast<void>(done);
  co_return empty_answer(200);
}

}  // namespace cay::api::daytona
