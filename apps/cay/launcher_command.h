// cay launcher: the privileged side, started by a supervisor or by hand.
#pragma once

namespace cay::app {

// argv[0] is "launcher". Returns the exit code, or becomes the launcher.
int launcher_command(int argc, char** argv);

}  // namespace cay::app
