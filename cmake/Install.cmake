# Headers, libraries, exported targets, pkg-config files, the licence, documentation and examples. What is installed may
# be moved: no file in it names the prefix.
include(CMakePackageConfigHelpers)
get_property(headers GLOBAL PROPERTY HEADRACE_HEADERS)

# A header that includes others: <headrace/headrace.h> all that was built, <headrace/train.h> the rooms of the trainer.
function(hr_umbrella name guard comment)
    set(text "/* ${comment} */\n#ifndef ${guard}\n#define ${guard}\n\n")
    foreach(header IN LISTS ARGN)
        get_filename_component(file ${header} NAME)
        string(APPEND text "#include <headrace/${file}>\n")
    endforeach()
    file(CONFIGURE OUTPUT ${HEADRACE_INCLUDE}/headrace/${name} CONTENT "${text}\n#endif\n" @ONLY)
endfunction()

set(umbrellas ${HEADRACE_INCLUDE}/headrace/headrace.h)
hr_umbrella(headrace.h HR_HEADRACE_H "Headrace: everything that this build has." ${headers})
if(HEADRACE_TRAIN)
    set(trainer ${headers})
    list(FILTER trainer INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/train/")
    hr_umbrella(train.h HR_TRAIN_H "Headrace, the trainer: all of its rooms." ${trainer})
    list(APPEND umbrellas ${HEADRACE_INCLUDE}/headrace/train.h)
endif()
list(APPEND umbrellas ${HEADRACE_CXX_HEADER})

get_property(other_headers GLOBAL PROPERTY HEADRACE_OTHER_HEADERS)
install(FILES ${headers} ${other_headers} ${umbrellas} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/headrace)

set(libraries headrace)
set(targets headrace headrace_static headrace_conformance)
set(suites headrace_conformance)
if(HEADRACE_TRAIN)
    list(APPEND libraries headrace_train)
    list(APPEND targets headrace_train headrace_train_static headrace_train_conformance)
    list(APPEND suites headrace_train_conformance)
    set_target_properties(headrace_train PROPERTIES INSTALL_RPATH "$ORIGIN") # where libheadrace lies, too
endif()
install(TARGETS ${targets} EXPORT headrace LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT headrace NAMESPACE headrace:: FILE headrace-targets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/headrace)

# What a static library is linked with, as pkg-config names it.
set(HEADRACE_NEEDS_headrace libuv zlib liblz4 yaml-0.1)
foreach(optional IN ITEMS ISAL/libisal ZSTD/libzstd)
    string(REPLACE "/" ";" pair ${optional})
    list(GET pair 0 found)
    list(GET pair 1 package)
    if(${found}_FOUND)
        list(APPEND HEADRACE_NEEDS_headrace ${package})
    endif()
endforeach()
set(HEADRACE_NEEDS_headrace_train libprotobuf-c libpcre2-8) # OpenBLAS is loaded at run time
foreach(optional IN ITEMS PNG/libpng JPEG/libjpeg)
    string(REPLACE "/" ";" pair ${optional})
    list(GET pair 0 found)
    list(GET pair 1 package)
    if(${found}_FOUND)
        list(APPEND HEADRACE_NEEDS_headrace_train ${package})
    endif()
endforeach()

configure_file(${PROJECT_SOURCE_DIR}/cmake/headrace-config.cmake.in ${CMAKE_BINARY_DIR}/headrace-config.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/headrace-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/headrace-config.cmake ${CMAKE_BINARY_DIR}/headrace-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/headrace)

# pkg-config files find the prefix from where they lie; folders outside of it are named as they were given.
function(hr_pc_folder out folder)
    if(IS_ABSOLUTE ${folder})
        set(${out} ${folder} PARENT_SCOPE)
    else()
        set(${out} "\${prefix}/${folder}" PARENT_SCOPE)
    endif()
endfunction()

hr_pc_folder(PC_LIBDIR ${CMAKE_INSTALL_LIBDIR})
hr_pc_folder(PC_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
    set(PC_PREFIX ${CMAKE_INSTALL_PREFIX})
else()
    file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
    string(REGEX REPLACE "/$" "" up ${up})
    set(PC_PREFIX "\${pcfiledir}/${up}")
endif()
foreach(PC_NAME IN LISTS libraries suites)
    set(PC_REQUIRES "")
    if(NOT PC_NAME STREQUAL headrace)
        set(PC_REQUIRES headrace)
    endif()
    if(PC_NAME STREQUAL headrace_train_conformance)
        set(PC_REQUIRES headrace_train headrace_conformance)
    endif()
    string(REPLACE ";" " " PC_REQUIRES "${PC_REQUIRES}")
    string(REPLACE ";" " " PC_REQUIRES_PRIVATE "${HEADRACE_NEEDS_${PC_NAME}}")
    configure_file(${PROJECT_SOURCE_DIR}/cmake/headrace.pc.in ${CMAKE_BINARY_DIR}/${PC_NAME}.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/${PC_NAME}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES data/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/data) # how operators are made, plug-ins too
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
