# Fails where a file includes one of a room above its own, or beside it. Run it with -DROOT=the source tree.
#
# A room is a folder with a height; a file belongs to the longest folder that its path begins with. A public header,
# <headrace/data.h>, counts as the file it is a link to. A .def list is names only, so anybody may include it.
cmake_minimum_required(VERSION 3.25)
set(rooms base=0
    io=10 io/schema=11 io/example=12 io/csv=13 io/json=14 io/table=15 io/policy=16 io/record=17 io/record_sets=18
    io/convert=19 io/survey=20
    data=30 data/sources=31 data/parse=32 data/arrow=33 data/ops=34 data/readers=35
    feature_columns=40 feature_columns/config=41 feature_columns/kernels=42 feature_columns/kinds=43
    feature_columns/derived=44 feature_columns/files=45
    conformance=46 proto=50
    train/checkpoint=60 train/summary=60 train/graph=70 train/graphdef=75 train/passes=75 train/ops=80
    train/ops/files=81 train/ops/images=81 train/ops/linalg=81 train/ops/lists=81 train/ops/nn=81 train/ops/sparse=81
    train/ops/tables=81 train/ops/text=81
    train/eager=85 train/transforms=90 train/optimizers=90 train/layers=90 train/saved_model=95
    train/hooks=100 train/estimator=110 train/training=112 train/models=112 train/conformance=115 train=120 serve=125
    cli=130)

function(find_room out file)
    set(found "")
    foreach(room IN LISTS rooms)
        string(REGEX REPLACE "=.*" "" folder ${room})
        string(FIND ${file} ${folder}/ at)
        string(LENGTH "${found}" longest)
        string(LENGTH ${room} length)
        if(at EQUAL 0 AND length GREATER longest)
            set(found ${room})
        endif()
    endforeach()
    set(${out} "${found}" PARENT_SCOPE)
endfunction()

# Which file <headrace/NAME> is: the one header of that name that is not private to a folder of its own.
function(find_public out name)
    set(found "")
    foreach(file IN LISTS files)
        get_filename_component(last ${file} NAME)
        if(last STREQUAL name)
            set(found ${file})
        endif()
    endforeach()
    set(${out} "${found}" PARENT_SCOPE)
endfunction()

function(check_include file included)
    find_room(from ${file})
    find_room(to ${included})
    if(from STREQUAL to OR to STREQUAL "")
        return()
    endif()
    string(REGEX REPLACE ".*=" "" above ${from})
    string(REGEX REPLACE ".*=" "" below ${to})
    if(below GREATER_EQUAL above)
        message(SEND_ERROR "${file} includes ${included}: an include points down only, and ${to} is not below ${from}")
    endif()
endfunction()

set(files "")
foreach(folder base io data feature_columns conformance proto train serve cli)
    file(GLOB_RECURSE some RELATIVE ${ROOT} ${ROOT}/${folder}/*.[ch])
    list(APPEND files ${some})
endforeach()
list(LENGTH files count)
if(count EQUAL 0)
    message(FATAL_ERROR "there are no sources in ${ROOT}")
endif()
foreach(file IN LISTS files)
    file(STRINGS ${ROOT}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]+[\"<][a-z_/0-9.]+[\">]")
    foreach(line IN LISTS lines)
        string(REGEX REPLACE ".*include[ \t]+[\"<]([^\">]+)[\">].*" "\\1" included ${line})
        if(included MATCHES "^headrace/(.+)")
            find_public(included ${CMAKE_MATCH_1})
        endif()
        if(included MATCHES "/" AND NOT included MATCHES "\\.def$")
            check_include(${file} ${included})
        endif()
    endforeach()
endforeach()
