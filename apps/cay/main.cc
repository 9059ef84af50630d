// cay: the one program to install. It has the native runtime alone.
#include "program.h"

int main(int argc, char** argv) { return cay::app::run_program(argc, argv); }
