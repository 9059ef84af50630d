#include "cay/async_contexts.h"
#include "methods.h"
#include "samples.h"

namespace cay::bench {

// Settings: "sandbox" (its id), "language", "code", "count", "warm", "fork" (1: each in a process
// that is forked off the interpreter).
Awaitable<json::object> evaluate(Session& at) {
  const auto sandbox = at.text("sandbox", "");
  const auto code = at.text("code", "1 + 1");
  const sdk::AsyncContexts contexts(at.cay, sandbox);
  sdk::ContextOptions options;
  options.language = at.text("language", "python");
  options.warm = true;
  sdk::CallOptions call;
  call.fork = at.number("fork", 0) != 0;
  const auto made = co_await contexts.create(std::move(options));
  Samples samples;
  const auto count = at.number("count", 100), warm = at.number("warm", 10);
  for (std::uint64_t i = 0; i < count + warm; ++i) {
    const auto begin = now();
    const auto got = co_await contexts.run(made.id, code, call);
    const double took = microseconds_since(begin);
    if (got.state != "ok") throw Failed{"the evaluation ended as " + got.state + ": " + got.json};
    if (i >= warm) samples.add(took);
  }
  co_await contexts.remove(made.id);
  co_return samples.report();
}

}  // namespace cay::bench
