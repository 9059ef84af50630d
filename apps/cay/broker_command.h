// cay broker: who keeps the key to secrets, as a process.
#pragma once

namespace cay::app {

int broker_command(int argc, char** argv);

}  // namespace cay::app
