#include "gate/written_rules.h"

#include <cerrno>
#include <utility>

#include "gate/egress_policy.h"
#include "gate/handover.h"
#include "os/file.h"
#include "wire/messages.h"
#include "wire/routes_file.h"

namespace cay::gate {
namespace {

// Returns false if the file is there and cannot be read.
bool take_routes(const GateContext& context, const std::string& sandbox_id) {
  if (context.handover == nullptr) return true;
  const std::string name = sandbox_id + wire::kRoutesSuffix;
  const auto text = os::read_file(context.rules, name, wire::kMostVaultFrame);
  wire::BrokerRoutes none;
  none.sandbox_id = sandbox_id;
  if (!text && text.error().os_errno == ENOENT) {
    context.handover->written(none);
    return true;
  }
  const auto written = text ? wire::decode<wire::WrittenRoutes>(*text) : std::nullopt;
  if (!written || !written->whole || written->routes.sandbox_id != sandbox_id) return false;
  context.handover->written(written->routes);
  return true;
}

}  // namespace

policy::Choice read_written_rules(const GateContext& context, const std::string& sandbox_id,
                                  const std::string& lent) {
  if (context.rules < 0) return {lent, {}};
  if (!take_routes(context, sandbox_id)) return EgressPolicy::unreadable();
  const auto text = os::read_file(context.rules, sandbox_id, wire::kMostSandboxPolicy);
  if (!text && text.error().os_errno == ENOENT) return {lent, {}};
  auto written = text ? wire::decode<wire::SandboxPolicy>(*text) : std::nullopt;
  if (!written) return EgressPolicy::unreadable();
  return {std::move(written->policy), std::move(written->rules)};
}

std::vector<wire::QuestionAnswer> read_written_answers(const GateContext& context,
                                                       const std::string& sandbox_id) {
  if (context.rules < 0) return {};
  const auto text =
      os::read_file(context.rules, sandbox_id + wire::kAnswersSuffix, wire::kMostQuestionsFile);
  auto file = text ? wire::decode<wire::AnswersFile>(*text) : std::nullopt;
  if (!file || !file->whole) return {};
  return std::move(file->items);
}

}  // namespace cay::gate
