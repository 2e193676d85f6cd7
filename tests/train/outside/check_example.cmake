# Compiles the program in a comment of a public header. CC: the compiler; INCLUDE: the folder of headrace/; HEADER: its
# name; FIRST: how the program begins, "#include" where it is a whole file, else statements of a function; WORK: a folder.
cmake_minimum_required(VERSION 3.25)
file(READ ${INCLUDE}/headrace/${HEADER} text)
string(FIND "${text}" "\n *     ${FIRST}" at)
if(at EQUAL -1)
    message(FATAL_ERROR "${HEADER}: expected a program in a comment that begins with ${FIRST}")
endif()
string(SUBSTRING "${text}" ${at} -1 text)
string(REGEX MATCH "^(\n \\*(     [^\n]*)?)+" program "${text}")
string(REGEX REPLACE "\n \\*(     )?" "\n" program "${program}")
if(NOT FIRST STREQUAL "#include")
    set(program "#include <headrace/train.h>
hr_status example(hr_graph *g, hr_node loss, hr_node train, const hr_feed *feeds, int n);
hr_status example(hr_graph *g, hr_node loss, hr_node train, const hr_feed *feeds, int n)
{
    hr_error err;
${program}
    return st;
}
")
endif()
file(WRITE ${WORK}/example.c "${program}")
execute_process(COMMAND ${CC} -std=c11 -Wall -Wextra -Werror -fsyntax-only -I${INCLUDE} ${WORK}/example.c
                RESULT_VARIABLE failed ERROR_VARIABLE why)
if(failed)
    message(FATAL_ERROR "the program in a comment of ${HEADER}:\n${why}")
endif()
