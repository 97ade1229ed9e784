// Expects a call to fail with an input Error whose message names what it should.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "rafter/base/error.h"

namespace rafter::test {

// The message of the input Error that `call` throws; a test failure, and an empty string, where it throws none.
template <typename Call>
std::string input_error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::input) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

template <typename Call>
void expect_input_error(Call&& call, std::initializer_list<std::string_view> parts) {
  const std::string message = input_error_of(call);
  for (const std::string_view part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is not in: " << message;
  }
}

}  // namespace rafter::test
