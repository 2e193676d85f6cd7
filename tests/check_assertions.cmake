# Fails where a test asserts that a comparison is true, or that a text is found: such a failure shows neither side.
# tests/testing.h has assertions that do. Run it with -DROOT=the source tree.
cmake_minimum_required(VERSION 3.25)
set(searches "(strn?cmp|memcmp|strstr)\\(")
set(compares " (==|!=|<=?|>=?) |fabsf?\\(|${searches}")

file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/tests/*.[ch])
set(count 0)
foreach(file IN LISTS files)
    file(READ ${ROOT}/${file} text)
    # What a CMake list would take for its own. An assertion ends at the first semicolon.
    string(REGEX REPLACE "[][\\]" "_" text "${text}")
    string(REPLACE ";" "@" text "${text}")
    string(REGEX MATCHALL "assert_(true|false|null|non_null|int_equal|int_not_equal)\\([^@]*@" found "${text}")
    foreach(assertion IN LISTS found)
        math(EXPR count "${count} + 1")
        if(assertion MATCHES "^assert_(true|false)\\(.*(${compares})" OR assertion MATCHES "^[a-z_]+\\(${searches}")
            string(REPLACE "@" "" assertion "${assertion}")
            message(SEND_ERROR "${file}: ${assertion}: expected an assertion of tests/testing.h that prints both sides, "
                               "for example assert_less(found, limit) or assert_text_contains(text, part)")
        endif()
    endforeach()
endforeach()
if(count LESS 100)
    message(SEND_ERROR "expected hundreds of plain assertions, found ${count}")
endif()
message(STATUS "${count} plain assertions, none of a comparison")
