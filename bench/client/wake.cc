#include "methods.h"
#include "samples.h"

namespace cay::bench {

// Settings: "sandbox" (its id), "command", "count", "warm".
Awaitable<json::object> wake(Session& at) {
  const auto sandbox = at.text("sandbox", "");
  const auto command = at.body("command", R"({"argv":["/bin/true"],"wait":true})");
  const auto count = at.number("count", 50), warm = at.number("warm", 2);
  Samples samples;
  for (std::uint64_t i = 0; i < count + warm; ++i) {
    co_await at.call("POST", sandbox_path(sandbox, "/stop"), "{}");
    const auto begin = now();
    co_await at.run(sandbox, command);
    if (i >= warm) samples.add(microseconds_since(begin));
  }
  co_return samples.report();
}

}  // namespace cay::bench
