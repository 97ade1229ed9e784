// Runs the built binary and gathers what it prints.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rafter::test {

struct Outcome {
  int status = -1;  // the exit status; 128 + N where signal N ended it
  std::string out, err;
};

struct CommandOptions {
  std::string input = {};       // standard input
  std::string out_file = {};    // where standard output goes; gathered where empty
  int interrupt_after_ms = 0;   // sends SIGINT then
  int64_t address_space = 0;    // bytes that it may map (ulimit -v); no limit where 0
  std::string cache = "/none";  // XDG_CACHE_HOME: what this machine was measured at is no test's business
};

// `rafter` with these arguments. A run that takes longer than a minute is killed and has failed.
Outcome rafter(const std::vector<std::string>& arguments, const CommandOptions& options = {});

// The real model that scripts/fetch-model fetches; empty where it is not there.
std::string smollm2();

}  // namespace rafter::test

// Leaves a test that needs the real model where there is none.
#define RAFTER_NEEDS_SMOLLM2() \
  if (rafter::test::smollm2().empty()) GTEST_SKIP() << "the SmolLM2 model is not in the cache: run scripts/fetch-model"
