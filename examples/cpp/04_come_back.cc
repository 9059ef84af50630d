// Starts something long, leaves, and comes back to every byte of it: from here, or from any other
// program that knows the two ids.
#include <iostream>

#include "cay/client.h"

int main() try {
  cay::Client cay;
  const auto box = cay.create();
  const auto started = box.start_detached({"sh", "-c", "for i in 1 2 3; do echo step $i; done"});
  std::cout << "sandbox " << box.ref() << ", command " << started.id << "\n";

  const cay::Client later;
  const auto got = later.sandbox(box.ref()).attach(started.id).wait();
  std::cout << got.out << "ended as " << got.command.state << "\n";

  // Any offset will do: each stream is kept as exact bytes.
  std::cout << "from byte 7: "
            << later.sandbox(box.ref()).attach(started.id, {.out = 7, .err = 0}).wait().out;
  box.remove();
  return 0;
} catch (const cay::ApiError& error) {
  std::cerr << error.what() << "\n";
  return 125;
}
