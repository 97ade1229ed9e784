// The program: everything it does is in the cli layer, which tests can link.
#include "rafter/cli/cli.h"

int main(int argc, char** argv) { return rafter::run_cli(argc, argv); }
