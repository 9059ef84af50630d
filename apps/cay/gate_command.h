// cay gate: the process through which sandboxes reach what is outside.
#pragma once

namespace cay::app {

int gate_command(int argc, char** argv);

}  // namespace cay::app
