# What `rafter --version` and results files say of their build: rafter/report/build_info.cpp.in, filled in before every
# build rather than when CMake configures, so that the commit is the one that is built.
# Run as a script (cmake -P) it writes the file; included, it adds that to the build of rafter_report.
if(CMAKE_SCRIPT_MODE_FILE)
  execute_process(COMMAND git --no-optional-locks rev-parse HEAD WORKING_DIRECTORY ${SOURCE_DIR}
    OUTPUT_VARIABLE RAFTER_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  set(RAFTER_DIRTY false)
  if(failed)
    if(EXISTS ${OUTPUT})  # a build folder carried to where there is no checkout keeps what it knows
      return()
    endif()
    set(RAFTER_COMMIT unknown)
  else()
    execute_process(COMMAND git --no-optional-locks status --porcelain --untracked-files=no WORKING_DIRECTORY ${SOURCE_DIR}
      OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      set(RAFTER_DIRTY true)
    endif()
  endif()
  configure_file(${SOURCE_DIR}/rafter/report/build_info.cpp.in ${OUTPUT} @ONLY)
  return()
endif()

set(build_info ${CMAKE_BINARY_DIR}/build_info.cpp)
set(cuda_version "")
set(cuda_archs "")
if(RAFTER_WITH_CUDA)
  set(cuda_version "${CUDAToolkit_VERSION}")
  set(cuda_archs "${arch_list}")
endif()
add_custom_target(rafter_build_info
  COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${CMAKE_SOURCE_DIR} -DOUTPUT=${build_info} -DRAFTER_VERSION=${PROJECT_VERSION}
    "-DRAFTER_CUDA_VERSION=${cuda_version}" "-DRAFTER_CUDA_ARCH_LIST=${cuda_archs}" "-DRAFTER_NO_CUDA_REASON=${RAFTER_NO_CUDA_REASON}"
    "-DRAFTER_COMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" -DRAFTER_BUILD_TYPE=${CMAKE_BUILD_TYPE}
    -P ${CMAKE_SOURCE_DIR}/cmake/RafterBuildInfo.cmake
  BYPRODUCTS ${build_info} VERBATIM)
target_sources(rafter_report PRIVATE ${build_info})
add_dependencies(rafter_report rafter_build_info)
