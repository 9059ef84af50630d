// cay-two-runtimes: the program `cay` with a second, fake runtime, for
// tests/e2e/test_two_runtimes.py. Its snapshot is `memory`.
#include <memory>

#include "program.h"
#include "stored_fake.h"

int main(int argc, char** argv) {
  const cay::app::MoreRuntimes more = [](cay::asio::any_io_executor loop, const std::string& data) {
    std::vector<cay::app::OwnedRuntime> all;
    all.push_back({"memory", std::make_unique<cay::two_runtimes::StoredFake>(std::move(loop),
                                                                             data + "/memory")});
    return all;
  };
  return cay::app::run_program(argc, argv, more);
}
