# <headrace/headrace.hpp>: the calls with options for C++20, made of the C headers.
get_property(headers GLOBAL PROPERTY HEADRACE_HEADERS)
set(HEADRACE_CXX_HEADER ${HEADRACE_INCLUDE}/headrace/headrace.hpp)
set(HEADRACE_HEADER_NAMES "")
foreach(header IN LISTS headers)
    get_filename_component(file ${header} NAME)
    list(APPEND HEADRACE_HEADER_NAMES headrace/${file})
endforeach()
add_custom_command(OUTPUT ${HEADRACE_CXX_HEADER}
                   DEPENDS ${headers} ${PROJECT_SOURCE_DIR}/cmake/ReadApi.cmake
                           ${PROJECT_SOURCE_DIR}/cmake/MakeCxxHeader.cmake ${PROJECT_SOURCE_DIR}/cmake/headrace.hpp.in
                   COMMAND ${CMAKE_COMMAND} -DCC=${CMAKE_C_COMPILER} -DINCLUDE=${HEADRACE_INCLUDE} "-DHEADERS=${HEADRACE_HEADER_NAMES}"
                           -DTEMPLATE=${PROJECT_SOURCE_DIR}/cmake/headrace.hpp.in -DOUT=${HEADRACE_CXX_HEADER}
                           -P ${PROJECT_SOURCE_DIR}/cmake/MakeCxxHeader.cmake
                   VERBATIM)
add_custom_target(headrace_cxx_header ALL DEPENDS ${HEADRACE_CXX_HEADER})
