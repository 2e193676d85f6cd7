# Installs into a fresh prefix, moves it, and builds programs with what lies there: by pkg-config and by find_package,
# shared and static, C and C++. BUILD: the build folder, all of whose libraries are built; WORK: a folder for all this.
set(prefix ${WORK}/moved)

function(check)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT result EQUAL 0)
        list(JOIN ARGN " " command)
        message(FATAL_ERROR "${command}:\n${text}")
    endif()
    set(output "${text}" PARENT_SCOPE)
endfunction()

function(expect_output program)
    check(${program})
    if(NOT output STREQUAL "3 9")
        message(FATAL_ERROR "${program}: expected \"3 9\", got \"${output}\"")
    endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
check(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${prefix})

foreach(file IN ITEMS share/doc/headrace/LICENSE share/doc/headrace/docs/errors.md share/doc/headrace/data/README.md
        share/doc/headrace/examples/flights.yaml include/headrace/train.h share/man/man1/headrace.1)
    if(NOT EXISTS ${prefix}/${file})
        message(FATAL_ERROR "expected ${file} to be installed")
    endif()
endforeach()
file(GLOB texts ${prefix}/${LIBDIR}/pkgconfig/*.pc ${prefix}/${LIBDIR}/cmake/headrace/*.cmake)
foreach(text IN LISTS texts)
    file(STRINGS ${text} named REGEX "${WORK}|${BUILD}")
    if(named)
        message(FATAL_ERROR "${text} names the folder that it was installed from or into: ${named}")
    endif()
endforeach()
check(${prefix}/bin/headrace --version)

# pkg-config: the archives are named in the place of the shared libraries.
set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
check(${PKG_CONFIG} --cflags --libs headrace_train)
separate_arguments(shared UNIX_COMMAND "${output}")
check(${PKG_CONFIG} --cflags --libs --static headrace_train)
string(REGEX REPLACE "-l(headrace[a-z_]*)" "-l:lib\\1.a" output "${output}")
separate_arguments(static UNIX_COMMAND "${output}")
foreach(kind IN ITEMS shared static)
    check(${CC} -std=c11 -Wall -Wextra -Wpedantic -Werror ${PROGRAMS}/use.c -o ${WORK}/use_${kind}
          ${${kind}} -Wl,-rpath,${prefix}/${LIBDIR})
    check(${CXX} -std=c++11 -Wall -Wextra -Wpedantic -Werror ${PROGRAMS}/use.cc -o ${WORK}/use_cc_${kind}
          ${${kind}} -Wl,-rpath,${prefix}/${LIBDIR})
    expect_output(${WORK}/use_${kind})
    expect_output(${WORK}/use_cc_${kind})
endforeach()

# The examples, where they lie: each by itself, as its first comment says.
check(${PKG_CONFIG} --cflags headrace_train)
separate_arguments(flags UNIX_COMMAND "${output}")
file(GLOB_RECURSE examples ${prefix}/share/doc/headrace/examples/*.c)
list(LENGTH examples count)
if(count LESS 5)
    message(FATAL_ERROR "expected the programs of examples/ to be installed, found ${count}")
endif()
foreach(example IN LISTS examples)
    check(${CC} -std=c11 -Wall -Wextra -Wpedantic -Werror -c ${example} -o ${WORK}/example.o ${flags})
endforeach()

# The test of the plug-in passes, and finds a plug-in that forgets to save where it stands.
check(${PKG_CONFIG} --cflags --libs headrace_conformance)
separate_arguments(suite UNIX_COMMAND "${output}")
set(plugin ${prefix}/share/doc/headrace/examples/plugin)
check(${CC} -std=c11 -Wall -Wextra -Wpedantic -Werror ${plugin}/test_every_nth.c -o ${WORK}/test_every_nth
      ${suite} -ldl -Wl,-rpath,${prefix}/${LIBDIR})
file(READ ${plugin}/every_nth.c source)
string(REPLACE ".saved = 1," ".saved = 0," forgetful "${source}")
if(forgetful STREQUAL source)
    message(FATAL_ERROR "${plugin}/every_nth.c: expected .saved = 1 in its descriptor")
endif()
file(WRITE ${WORK}/forgetful.c "${forgetful}")
check(${CC} -shared -fPIC -std=c11 -o ${WORK}/every_nth.so ${plugin}/every_nth.c ${suite})
check(${CC} -shared -fPIC -std=c11 -o ${WORK}/forgetful.so ${WORK}/forgetful.c ${suite})
check(${WORK}/test_every_nth ${WORK}/every_nth.so)
execute_process(COMMAND ${WORK}/test_every_nth ${WORK}/forgetful.so RESULT_VARIABLE result ERROR_VARIABLE text)
if(NOT result EQUAL 1 OR NOT text MATCHES "^every_nth: resumed after [0-9]+ elements, .*: expected .*, found ")
    message(FATAL_ERROR "test_every_nth over an operator that saves nothing: expected that the suite finds it, got ${result}: ${text}")
endif()

# CMake.
check(${CMAKE_COMMAND} -S ${PROGRAMS}/project -B ${WORK}/project -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_C_COMPILER=${CC}
      -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Debug -DEXAMPLES=${prefix}/share/doc/headrace/examples)
check(${CMAKE_COMMAND} --build ${WORK}/project)
check(${WORK}/project/test_every_nth ${WORK}/every_nth.so)
foreach(program IN ITEMS use_c use_c_static use_cc use_cc_static)
    expect_output(${WORK}/project/${program})
endforeach()
file(REMOVE_RECURSE ${WORK})
