// cay key create|list|remove: the keys of a data directory, edited on the daemon's machine.
#pragma once

namespace cay::app {

// argv[0] is "key". Returns the exit code.
int key_command(int argc, char** argv);

}  // namespace cay::app
