#include "agent/loop/prompt.h"

#include <utility>

#include "agent/loop/instructions.h"

namespace cay::agent {

Task<void> make_prompt(Harness* harness, std::string own, std::vector<std::string> skills,
                       std::vector<std::string> memory) {
  if (!harness->state().instructions && (!skills.empty() || !memory.empty())) {
    auto reading = read_instructions(harness, std::move(skills), std::move(memory));
    CAY_CO_TRY(auto text, co_await std::move(reading));
    codec::json::object data;
    data["text"] = std::move(text);
    CAY_CO_CHECK(harness->recorder->record("instructions", std::move(data)));
  }
  std::string out = std::move(own);
  const auto add = [&out](const std::string& part) {
    if (!part.empty()) out += (out.empty() ? "" : "\n\n") + part;
  };
  if (harness->backend) {
    const bool local = harness->backend->provider() == "local";
    add(std::string("Your tools for files and commands act ") +
        (local ? "on the user's own computer, and nothing is isolated" : "in a sandbox") +
        ". The working directory is " + harness->backend->workdir() + ".");
  }
  if (!harness->response_schema.empty()) {
    add("Your last answer, without tool calls, is JSON alone, and follows this schema: " +
        codec::write(harness->response_schema));
  }
  add(harness->state().instructions.value_or(""));
  harness->system_prompt = std::move(out);
  co_return Result<void>{};
}

}  // namespace cay::agent
