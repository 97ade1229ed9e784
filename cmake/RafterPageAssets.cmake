# What every report page holds (rafter/report/page.css, page*.js, Chart.js of Debian's libjs-chart.js) as arrays in the program,
# each with the hash by which the page's policy lets it run.
# Run as a script (cmake -P) it writes the file; included, it adds that to the build of rafter_report.
if(CMAKE_SCRIPT_MODE_FILE)
  function(add_asset name)  # the files one after the other
    set(text "")
    foreach(file IN LISTS ARGN)
      file(READ ${file} part)
      string(APPEND text "${part}")
    endforeach()
    string(SHA256 hash "${text}")
    string(LENGTH "${text}" length)
    string(HEX "${text}" bytes)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    file(APPEND ${OUTPUT}.new "constexpr unsigned char ${name}_bytes[] = {${bytes}0};\n"
      "const PageAsset k${name} = {{reinterpret_cast<const char*>(${name}_bytes), ${length}}, \"${hash}\"};\n")
  endfunction()
  file(WRITE ${OUTPUT}.new "#include \"rafter/report/page_assets.h\"\n\nnamespace rafter {\n\n")
  add_asset(PageStyle ${STYLE})
  add_asset(PageScript ${SCRIPTS})
  add_asset(ChartLibrary ${LIBRARY})
  file(APPEND ${OUTPUT}.new "\n}  // namespace rafter\n")
  file(RENAME ${OUTPUT}.new ${OUTPUT})
  return()
endif()

find_file(RAFTER_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist NO_DEFAULT_PATH)
if(RAFTER_CHART_JS)
  message(STATUS "Rafter: report pages have charts (${RAFTER_CHART_JS})")
  set(chart_library ${CMAKE_SOURCE_DIR}/rafter/report/chart_licence.txt ${RAFTER_CHART_JS})
else()
  message(STATUS "Rafter: report pages show tables in the place of charts (no Chart.js: install libjs-chart.js, configure again)")
  set(chart_library "")
endif()
set(page_style ${CMAKE_SOURCE_DIR}/rafter/report/page.css)
set(page_scripts page_format.js page_labels.js page_charts.js page_bars.js page_tables.js page.js)  # in this order one module
list(TRANSFORM page_scripts PREPEND ${CMAKE_SOURCE_DIR}/rafter/report/)
set(page_assets ${CMAKE_BINARY_DIR}/page_assets.cpp)
add_custom_command(OUTPUT ${page_assets}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${page_assets} -DSTYLE=${page_style} "-DSCRIPTS=${page_scripts}"
    "-DLIBRARY=${chart_library}" -P ${CMAKE_SOURCE_DIR}/cmake/RafterPageAssets.cmake
  DEPENDS ${page_style} ${page_scripts} ${chart_library} ${CMAKE_SOURCE_DIR}/cmake/RafterPageAssets.cmake VERBATIM)
target_sources(rafter_report PRIVATE ${page_assets})
