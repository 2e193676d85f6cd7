# Every public header compiles by itself as C++, without a warning. CXX: the compiler; HEADERS: the folder of headrace/.
file(GLOB headers RELATIVE ${HEADERS} ${HEADERS}/headrace/*.h)
list(LENGTH headers count)
if(count EQUAL 0)
    message(FATAL_ERROR "no headers in ${HEADERS}/headrace")
endif()
foreach(header ${headers})
    file(WRITE ${WORK}/header.cc "#include <${header}>\n")
    execute_process(COMMAND ${CXX} -std=c++11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I${HEADERS} ${WORK}/header.cc
                    RESULT_VARIABLE result ERROR_VARIABLE text)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "${header} as C++:\n${text}")
    endif()
endforeach()
