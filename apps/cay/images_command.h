// `cay images`: the process that fetches and reads images.
#pragma once

namespace cay::app {

int images_command(int argc, char** argv);

}  // namespace cay::app
