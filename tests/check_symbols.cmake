# Holds what the shared libraries export: public names begin with hr_; of the private ones, hr__, a library exports those
# that the ones above it need, under the version node HEADRACE_PRIVATE_, and no others.
# Run it with -DNM=nm -DLIBRARIES=libheadrace.so[;libheadrace_train.so[;libheadrace_serve.so]], from the ground up.
cmake_minimum_required(VERSION 3.25)

function(names_of out library which)
    execute_process(COMMAND ${NM} -D ${which} --format=posix ${library} OUTPUT_VARIABLE text RESULT_VARIABLE failed)
    if(failed)
        message(FATAL_ERROR "${NM} cannot read ${library}")
    endif()
    string(REGEX MATCHALL "[^\n]+" lines "${text}")
    list(TRANSFORM lines REPLACE " .*" "")
    set(${out} ${lines} PARENT_SCOPE)
endfunction()

function(private_names out names)
    set(found ${names})
    list(FILTER found INCLUDE REGEX "^hr__")
    list(TRANSFORM found REPLACE "@.*" "")
    set(${out} ${found} PARENT_SCOPE)
endfunction()

# Each library needs what those before it export, and each private name that one exports is needed after it.
set(exported "")
set(wanted "")
foreach(library IN LISTS LIBRARIES)
    names_of(defined ${library} --defined-only)
    if(NOT defined)
        message(SEND_ERROR "${library} exports nothing")
    endif()
    foreach(name IN LISTS defined)
        # The linker exports the names of the version nodes, too.
        if(NOT name MATCHES "^(hr_|HEADRACE_|__(asan|tsan|ubsan|sancov|odr_asan))")
            message(SEND_ERROR "${library} exports ${name}: expected an exported name to begin with hr_")
        endif()
    endforeach()
    names_of(undefined ${library} --undefined-only)
    list(TRANSFORM undefined REPLACE "@.*" "")
    foreach(name IN LISTS undefined)
        if(name MATCHES "^hr_" AND NOT name IN_LIST exported)
            message(SEND_ERROR "${library} needs ${name}, which no library below it exports; put HR_API in front of its "
                               "declaration, or do without it")
        endif()
    endforeach()
    list(APPEND wanted ${undefined})
    list(TRANSFORM defined REPLACE "@.*" "")
    list(APPEND exported ${defined})
endforeach()

# A build that lacks the libraries above needs fewer.
list(LENGTH LIBRARIES libraries)
if(libraries GREATER 2)
    private_names(private "${exported}")
    foreach(name IN LISTS private)
        if(NOT name IN_LIST wanted)
            message(SEND_ERROR "${name} is exported, and no library above needs it; remove HR_API from its declaration")
        endif()
    endforeach()
endif()
