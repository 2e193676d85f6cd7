# Fails where a file of a kit's folder needs more than the installed headers and libraries. CC: the compiler; ROOT: the
# source tree; FOLDER: the kit's, in ROOT; FILES: those of it that are made of the kit (none: all); EXCEPT: those that may
# need more; OWN: headers in the folder that its files share; LINK: what else they are linked with; INCLUDE: the folder
# of headrace/; LIBRARIES: shared ones; WORK: a folder for objects.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
if(NOT FILES)
    file(GLOB FILES ${ROOT}/${FOLDER}/*.c)
endif()
if(NOT FILES)
    message(FATAL_ERROR "there are no sources in ${ROOT}/${FOLDER}")
endif()

# Headers of the folder are found by its name, as are those that are named with theirs; nothing else of the tree is.
foreach(header IN LISTS OWN)
    if(NOT header MATCHES "/")
        set(header ${FOLDER}/${header})
    endif()
    get_filename_component(folder ${header} DIRECTORY)
    file(COPY ${ROOT}/${header} DESTINATION ${WORK}/own/${folder})
endforeach()

set(defines ${LINK})
list(FILTER defines INCLUDE REGEX "^-D")

# Compiled from a copy, so that headers beside the file are not found; without places, as the library's rooms are.
set(objects "")
set(unknown ${EXCEPT})
foreach(file IN LISTS FILES)
    get_filename_component(name ${file} NAME_WE)
    file(COPY_FILE ${ROOT}/${FOLDER}/${name}.c ${WORK}/${name}.c)
    execute_process(COMMAND ${CC} -std=c11 -D_GNU_SOURCE -DHR_NO_PLACES -Wall -Wextra -Werror -fPIC -fvisibility=hidden -I${INCLUDE} -I${WORK}/own ${defines}
                            -c ${name}.c -o ${name}.o
                    WORKING_DIRECTORY ${WORK} RESULT_VARIABLE failed ERROR_VARIABLE text)
    if(NOT name IN_LIST EXCEPT)
        if(failed)
            message(SEND_ERROR "${FOLDER}/${name}.c: expected it to need the installed headers alone:\n${text}")
        else()
            list(APPEND objects ${name}.o)
        endif()
    elseif(NOT failed)
        message(SEND_ERROR "${FOLDER}/${name}.c needs the installed headers alone; take it off the list in tests/kits.cmake")
    endif()
    list(REMOVE_ITEM unknown ${name})
endforeach()
if(unknown)
    message(SEND_ERROR "tests/kits.cmake names files that ${FOLDER} does not have: ${unknown}")
endif()

if(objects)
    execute_process(COMMAND ${CC} -shared -Wl,--no-undefined -o kit.so ${objects} ${LIBRARIES} ${LINK} -lm
                    WORKING_DIRECTORY ${WORK} RESULT_VARIABLE failed ERROR_VARIABLE text)
    if(failed)
        message(SEND_ERROR "${FOLDER}: expected all that its files call to be exported:\n${text}")
    endif()
endif()
