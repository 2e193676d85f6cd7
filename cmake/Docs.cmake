# The API reference: `cmake --build BUILD --target docs` makes BUILD/reference/html from the comments of the public
# headers. Doxygen is needed for this target alone.
get_property(headers GLOBAL PROPERTY HEADRACE_HEADERS)
get_property(other_headers GLOBAL PROPERTY HEADRACE_OTHER_HEADERS)
list(APPEND headers ${other_headers})
list(JOIN headers "\" \\\n                         \"" HEADRACE_REFERENCE_INPUT)
configure_file(${CMAKE_CURRENT_LIST_DIR}/Doxyfile.in ${PROJECT_BINARY_DIR}/Doxyfile @ONLY)
find_program(HEADRACE_DOXYGEN NAMES doxygen)
set(reference_stamp ${PROJECT_BINARY_DIR}/reference/.made)
if(HEADRACE_DOXYGEN)
    add_custom_command(OUTPUT ${reference_stamp} COMMAND ${HEADRACE_DOXYGEN} ${PROJECT_BINARY_DIR}/Doxyfile
                       COMMAND ${CMAKE_COMMAND} -E touch ${reference_stamp}
                       DEPENDS ${headers} ${PROJECT_BINARY_DIR}/Doxyfile ${PROJECT_SOURCE_DIR}/scripts/api-comments.awk)
    add_custom_target(docs DEPENDS ${reference_stamp} COMMENT "the reference is reference/html/index.html")
else()
    add_custom_target(docs COMMAND ${CMAKE_COMMAND} -E echo "docs: doxygen is missing, apt-get install doxygen"
                      COMMAND ${CMAKE_COMMAND} -E false)
endif()
