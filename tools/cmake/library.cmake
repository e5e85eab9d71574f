# libglinfer: the objects of every folder in one shared library that exports glinfer_* alone.
get_property(folders GLOBAL PROPERTY glinfer_folders)
list(TRANSFORM folders REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)

add_library(glinfer SHARED ${objects})
add_library(glinfer::glinfer ALIAS glinfer)
set_target_properties(glinfer PROPERTIES
    LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} # while the major is 0
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/src/glinfer.map)
target_include_directories(glinfer PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(glinfer PRIVATE ${folders} m)
target_link_options(glinfer PRIVATE
    LINKER:--version-script=${PROJECT_SOURCE_DIR}/src/glinfer.map LINKER:--as-needed
    LINKER:-z,nodelete) # libEGL leaks threads whenever it is unloaded and loaded again
if(NOT GLINFER_SANITIZE)
    target_link_options(glinfer PRIVATE LINKER:--no-undefined)
endif()

if(GLINFER_STATIC)
    add_library(glinfer_static STATIC ${objects})
    set_target_properties(glinfer_static PROPERTIES
        LINKER_LANGUAGE C
        OUTPUT_NAME glinfer
        ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    install(TARGETS glinfer_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
endif()

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/glinfer)
write_basic_package_version_file(glinferConfigVersion.cmake COMPATIBILITY SameMinorVersion)

# Paths in glinfer.pc run from its own place, so that an installed tree can be moved.
set(pkgconfig_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_prefix ${pkgconfig_dir} ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH pc_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
configure_file(tools/cmake/glinfer.pc.in glinfer.pc @ONLY)

install(TARGETS glinfer EXPORT glinfer
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT dev)
install(EXPORT glinfer NAMESPACE glinfer:: FILE glinferConfig.cmake DESTINATION ${package_dir} COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/glinferConfigVersion.cmake DESTINATION ${package_dir} COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/glinfer.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
install(FILES src/glinfer.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)

# glinfer(3), of the date that glinfer(1) has.
set(man3 awk -v version=${PROJECT_VERSION} -f ${PROJECT_SOURCE_DIR}/tools/cmake/man3.awk ${PROJECT_SOURCE_DIR}/src/cli/man/glinfer.1
    ${PROJECT_SOURCE_DIR}/src/glinfer.h)
add_custom_command(OUTPUT glinfer.3 COMMAND ${man3} > glinfer.3 VERBATIM
    DEPENDS src/glinfer.h src/cli/man/glinfer.1 tools/cmake/man3.awk)
add_custom_target(glinfer_man ALL DEPENDS glinfer.3)
install(FILES ${PROJECT_BINARY_DIR}/glinfer.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT dev)
# Each function has it by its own name, too.
file(STRINGS src/glinfer.h declarations REGEX "^[a-zG].*glinfer_[a-z_]+\\(|^glinfer_[a-z_]+\\(")
foreach(declaration ${declarations})
    if(NOT declaration MATCHES "^static|^typedef" AND declaration MATCHES "(glinfer_[a-z_]+)\\(")
        set(alias ${PROJECT_BINARY_DIR}/man3/${CMAKE_MATCH_1}.3)
        file(WRITE ${alias} ".so man3/glinfer.3\n")
        install(FILES ${alias} DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT dev)
    endif()
endforeach()
