// Three sandboxes at once from coroutines, and what the ends of commands look like.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <iostream>

#include "cay/async_client.h"

namespace asio = boost::asio;

asio::awaitable<void> try_line(cay::AsyncClient& cay, std::string line) {
  auto box = co_await cay.create();
  cay::sdk::CommandOptions options;
  options.timeout_s = 1;
  const auto got = co_await box.run_shell(line, std::move(options));
  std::cout << line << ": " << got.command.state << ", as a shell's exit code "
            << got.command.shell_exit_code() << "\n";
  co_await box.remove();
}

int main() {
  asio::io_context loop;
  cay::AsyncClient cay(loop.get_executor());
  int failures = 0;
  for (const char* line : {"exit 7", "kill -9 $$", "sleep 60"}) {
    asio::co_spawn(loop, try_line(cay, line), [&failures](std::exception_ptr thrown) {
      if (!thrown) return;
      ++failures;
      try {
        std::rethrow_exception(thrown);
      } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
      }
    });
  }
  loop.run();
  return failures == 0 ? 0 : 125;
}
