// The command line: one file per verb, and what verbs share beside them.
#pragma once

namespace rafter {

// Parses and runs. Gives the exit status: 0, 1 where a run failed, 2 where usage or input was wrong, 130 after Ctrl-C.
int run_cli(int argc, char** argv);

}  // namespace rafter
