# fx for CMake: find_package(fx CONFIG), then the library fx::fx, the command fx::fxc, and fx_compile.
#
#   fx_compile(TARGET SPEC [ARCH sm_80 sm_90a ...] [NAME name] [DEFINES K=4096 ...] [INCLUDE_DIRS dir ...] [KERNEL kernel])
#
# compiles SPEC ahead of time (fxc aot) when TARGET is built, into NAME.c and NAME.h (by default the spec's name) below the build folder, adds the C file to
# TARGET and the header to where it looks for includes. It is made again when the spec changes, or what it includes. TARGET needs nothing of fx where it runs.
get_filename_component(_fx_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET fx::fx)
    find_package(Threads REQUIRED)
    add_library(fx::fx SHARED IMPORTED)
    set_target_properties(fx::fx PROPERTIES
        IMPORTED_LOCATION "${_fx_prefix}/lib/libfx.so.0"
        INTERFACE_INCLUDE_DIRECTORIES "${_fx_prefix}/include/fx")
    add_library(fx::static STATIC IMPORTED)
    set_target_properties(fx::static PROPERTIES
        IMPORTED_LOCATION "${_fx_prefix}/lib/libfx.a"
        INTERFACE_INCLUDE_DIRECTORIES "${_fx_prefix}/include/fx"
        INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
    add_executable(fx::fxc IMPORTED)
    set_target_properties(fx::fxc PROPERTIES IMPORTED_LOCATION "${_fx_prefix}/bin/fxc")
endif()

function(fx_compile target spec)
    cmake_parse_arguments(PARSE_ARGV 2 fx "" "NAME;KERNEL" "ARCH;DEFINES;INCLUDE_DIRS")
    if(NOT TARGET ${target})
        message(FATAL_ERROR "fx_compile: there is no target ${target}")
    endif()
    if(fx_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "fx_compile: unknown argument ${fx_UNPARSED_ARGUMENTS}: expected ARCH, NAME, DEFINES, INCLUDE_DIRS or KERNEL")
    endif()
    get_filename_component(path "${spec}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    if(NOT fx_NAME)
        get_filename_component(fx_NAME "${spec}" NAME_WE)
    endif()
    if(NOT fx_ARCH)
        set(fx_ARCH sm_90a)
    endif()
    list(JOIN fx_ARCH "," arches)
    set(options)
    foreach(define IN LISTS fx_DEFINES)
        list(APPEND options -D "${define}")
    endforeach()
    foreach(dir IN LISTS fx_INCLUDE_DIRS)
        get_filename_component(dir "${dir}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
        list(APPEND options -I "${dir}")
    endforeach()
    if(fx_KERNEL)
        list(APPEND options -k "${fx_KERNEL}")
    endif()
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/fx/${target}")
    set(made "${folder}/${fx_NAME}")
    file(MAKE_DIRECTORY "${folder}")
    set(depfile)
    if(CMAKE_GENERATOR MATCHES "Ninja" OR NOT CMAKE_VERSION VERSION_LESS 3.20)
        set(depfile DEPFILE "${made}.d")
    endif()
    add_custom_command(OUTPUT "${made}.c" "${made}.h"
        COMMAND fx::fxc aot "${path}" --arch=${arches} ${options} -o "${made}" -MD -MF "${made}.d"
        DEPENDS "${path}" fx::fxc ${depfile}
        COMMENT "fxc ${fx_NAME}" VERBATIM)
    find_package(Threads REQUIRED)
    target_sources(${target} PRIVATE "${made}.c" "${made}.h")
    target_include_directories(${target} PRIVATE "${folder}")
    target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
endfunction()
