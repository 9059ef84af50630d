// Makes a sandbox, runs a program in it, prints what it printed, and removes the sandbox.
#include <iostream>

#include "cay/client.h"

int main() try {
  cay::Client cay;  // finds the daemon by CAY_URL and CAY_API_KEY, or on loopback
  const auto box = cay.create();
  const auto got = box.run({"sh", "-c", "echo \"Hello from $(hostname), pid $$\""});
  std::cout << got.out;
  box.remove();
  return got.command.shell_exit_code();
} catch (const cay::ApiError& error) {
  std::cerr << error.what() << "\n";
  return 125;
}
