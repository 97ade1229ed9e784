// What is the same in every page: style, scripts and Chart.js, put into the program by cmake/RafterPageAssets.cmake.
#pragma once

#include <string_view>

namespace rafter {

struct PageAsset {
  std::string_view text;    // as it stands between its tags
  std::string_view sha256;  // of the text, in hexadecimal
};

extern const PageAsset kPageStyle, kPageScript;
extern const PageAsset kChartLibrary;  // Chart.js after its licence; empty where the build had none

}  // namespace rafter
