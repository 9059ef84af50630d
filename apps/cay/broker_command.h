// `cay broker` runs the broker, the process that holds the key to secrets.
#pragma once

namespace cay::app {

int broker_command(int argc, char** argv);

}  // namespace cay::app
