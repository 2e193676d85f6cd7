# What was found and what the build lacks, in one place.
message(STATUS "Headrace ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}, ${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}")
foreach(lack IN LISTS HEADRACE_LACKS)
    message(STATUS "  built without ${lack}")
endforeach()
