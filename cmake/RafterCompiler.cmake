# Language level, warnings, sanitizers and ccache for all of the project's own code.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

if(RAFTER_PORTABLE)
  set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
  set(CMAKE_BUILD_RPATH "$ORIGIN/../lib")  # bin/ and tests/ lie beside lib/
endif()

find_program(RAFTER_CCACHE ccache)
if(RAFTER_CCACHE)
  # What ccache asks for with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${RAFTER_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${RAFTER_CCACHE})
endif()

add_library(rafter_options INTERFACE)
# No contraction of a * b + c where it is not asked for: kernels promise the same bits from every tile size.
target_compile_options(rafter_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Werror -ffp-contract=off>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Werror --Werror=all-warnings>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns falsely at "literal" + std::string (GCC bug 105651).
  target_compile_options(rafter_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(RAFTER_SANITIZE)
  target_compile_options(rafter_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${RAFTER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer>)
  target_link_options(rafter_options INTERFACE -fsanitize=${RAFTER_SANITIZE})
endif()
