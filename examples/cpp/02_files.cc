// Writes a program into a sandbox, runs it, and reads back the file that it wrote.
#include <iostream>

#include "cay/client.h"

int main() try {
  cay::Client cay;
  const auto box = cay.create();
  box.write_file("/app/count.sh", "#!/bin/sh\nwc -w < /app/words > /app/count\n", 0755);
  box.write_file("/app/words", "one two three four");
  box.run({"/app/count.sh"});
  std::cout << "words: " << box.read_file("/app/count");
  for (const auto& entry : box.list("/app"))
    std::cout << entry.path << " " << entry.size << " bytes\n";
  box.remove();
  return 0;
} catch (const cay::ApiError& error) {
  std::cerr << error.what() << "\n";
  return 125;
}
