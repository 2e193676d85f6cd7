# Fails where the code makes an error of a kind that docs/errors.md does not list, or where a kind is listed that the code
# does not know. Run it with -DROOT=the source tree.
cmake_minimum_required(VERSION 3.25)
set(kind "[a-z0-9_]+(\\.[a-z0-9_]+)+")

set(code "")
foreach(room base io data feature_columns proto train cli)
    file(GLOB_RECURSE files ${ROOT}/${room}/*.c ${ROOT}/${room}/*.h ${ROOT}/${room}/*.inc)
    foreach(file IN LISTS files)
        file(READ ${file} text)
        string(APPEND code "${text}")
    endforeach()
endforeach()

file(READ ${ROOT}/docs/errors.md text)
string(REGEX MATCHALL "\n\\| [a-z0-9_.]+ \\|" listed "${text}")
list(TRANSFORM listed REPLACE "[^a-z]*([a-z0-9_.]+) .*" "\\1")
list(REMOVE_ITEM listed kind) # the head of the table

set(faults "")
foreach(name IN LISTS listed)
    string(FIND "${code}" "\"${name}\"" at)
    if(at EQUAL -1)
        list(APPEND faults "docs/errors.md lists ${name}, which no file makes")
    endif()
endforeach()

# A kind stands behind its status: hr_fail(err, HR_DATA_LOSS, "stream.corrupt", ...).
string(REGEX MATCHALL "HR_[A-Z_]+,[ \n]*\"${kind}\"" made "${code}")
list(FILTER made EXCLUDE REGEX "^HR_END,") # no error
list(TRANSFORM made REPLACE "[^\"]*\"([^\"]*)\"" "\\1")
list(REMOVE_DUPLICATES made)
foreach(name IN LISTS made)
    if(NOT name IN_LIST listed)
        list(APPEND faults "docs/errors.md does not list ${name}")
    endif()
endforeach()

list(LENGTH listed count)
list(LENGTH made found)
if(count LESS 100 OR found LESS 100)
    list(APPEND faults "expected hundreds of kinds, found ${count} listed and ${found} made")
endif()
foreach(fault IN LISTS faults)
    message(SEND_ERROR "${fault}")
endforeach()
message(STATUS "${count} kinds are listed, ${found} of them seen behind their status")
