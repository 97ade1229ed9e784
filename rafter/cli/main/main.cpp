#include "rafter/cli/cli.h"

int main(int argc, char** argv) { return rafter::run_cli(argc, argv); }
