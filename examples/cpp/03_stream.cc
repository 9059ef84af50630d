// Shows output while it comes, answers a question on stdin, and reads how the command ended.
#include <iostream>
#include <variant>

#include "cay/client.h"

int main() try {
  cay::Client cay;
  const auto box = cay.create();
  cay::sdk::CommandOptions options;
  options.close_stdin = false;
  options.timeout_s = 30;
  auto command =
      box.spawn({"sh", "-c", "printf 'Name: '; read name; echo; echo \"Hello $name\""}, options);
  bool answered = false;
  while (true) {
    const auto event = command.next();
    if (const auto* output = std::get_if<cay::sdk::Output>(&event)) {
      std::cout << output->bytes << std::flush;
      if (!answered) command.write_stdin("World\n");
      answered = true;
    } else if (const auto* end = std::get_if<cay::sdk::End>(&event)) {
      std::cout << "state: " << end->command.state << "\n";
      break;
    }
  }
  box.remove();
  return 0;
} catch (const cay::ApiError& error) {
  std::cerr << error.what() << "\n";
  return 125;
}
