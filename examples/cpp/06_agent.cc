// Lets a language model work in a sandbox, and prints its answer. The model is the one of
// OPENAI_MODEL or ANTHROPIC_MODEL, with the key and the address of those variables.
#include "cay/agent.h"

#include <iostream>

int main() try {
  const auto agent = cay::create_agent({.system_prompt = "You are a careful engineer."});
  const auto got = agent.invoke("Create a hello world Python script and run it");
  std::cout << got.text << "\n";
  agent.remove_sandbox();
  return got.state == "done" ? 0 : 1;
} catch (const cay::ApiError& error) {
  std::cerr << error.what() << "\n";
  return 125;
}
