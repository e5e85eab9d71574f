# Debian packages: `cpack -G DEB` in the build folder. A program that has the library inside needs libglinfer<soname> alone.
set(library_package libglinfer${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(same_version "${library_package} (= ${PROJECT_VERSION})")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "glinfer contributors" CACHE STRING "Maintainer of packages: name <address>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL command library dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME glinfer)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "language models (GGUF) on OpenGL ES 3.1 GPUs")
set(about "glinfer runs language models from GGUF files on GPUs with OpenGL ES 3.1 compute
shaders and Mesa's drivers, without a display server, Vulkan or a vendor's SDK.
Without a GPU it runs on the CPU, slowly.")
set(CPACK_DEBIAN_COMMAND_DESCRIPTION "${about}
This package has the command: it fetches models, answers and chats in a
terminal, serves a web page and the APIs of OpenAI and llama-server, computes
embeddings and measures.")
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS "${same_version}")
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS ca-certificates) # for what is fetched by https

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library_package})
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "${about}
This package has the C library, which programs embed.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
# Without a driver there is no device. No virtual package stands for those of vendors, so NVIDIA's is named.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libgl1-mesa-dri | libegl-nvidia0")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libglinfer-dev)
set(CPACK_DEBIAN_DEV_DESCRIPTION "${about}
This package has the header with its man pages, and files for pkg-config and
CMake.")
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${same_version}")
if(GLINFER_STATIC)
    string(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
        ", libegl-dev, libgles-dev, libgbm-dev, libdrm-dev, libpcre2-dev, libcjson-dev, libutf8proc-dev")
endif()

# dpkg-shlibdeps finds the libraries that the files link, the library of the build among them.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
# Packages of programs that link the library find it by its shlibs file.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
    set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
    set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_BINARY_DIR}/cpack_environment.cmake)
    file(WRITE ${CPACK_PROJECT_CONFIG_FILE} "set(ENV{DEB_HOST_ARCH} arm64)\n")
endif()

# Libraries of several architectures may be installed together. CPack has no setting for it before 3.31.
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/tools/cmake/multiarch.cmake)

# The licence and the changelog go into each package, and into no other installation.
set(changelog ${PROJECT_BINARY_DIR}/package/changelog.gz)
add_custom_command(OUTPUT ${changelog}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/package
    COMMAND gzip -9nc ${PROJECT_SOURCE_DIR}/CHANGELOG.md > ${changelog}
    DEPENDS CHANGELOG.md VERBATIM)
add_custom_target(glinfer_changelog ALL DEPENDS ${changelog})
foreach(component command library dev)
    string(TOUPPER ${component} name)
    set(folder share/doc/${CPACK_DEBIAN_${name}_PACKAGE_NAME})
    install(FILES LICENSE DESTINATION ${folder} RENAME copyright COMPONENT ${component} EXCLUDE_FROM_ALL)
    install(FILES ${changelog} DESTINATION ${folder} COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
# The units name the command by the place that a package gives it, so they work in no other installation, which has them
# as examples alone. Nothing enables them. Their settings are the administrator's: dpkg keeps changes of a conffile.
if(MICROHTTPD_FOUND)
    set(examples tools/examples/serve)
    install(FILES ${examples}/glinfer.service ${examples}/glinfer.socket
        DESTINATION lib/systemd/system COMPONENT command EXCLUDE_FROM_ALL)
    install(FILES ${examples}/glinfer.default DESTINATION ../etc/default RENAME glinfer # beside /usr
        COMPONENT command EXCLUDE_FROM_ALL)
    file(WRITE ${PROJECT_BINARY_DIR}/package/conffiles "/etc/default/glinfer\n")
    set(scripts ${PROJECT_SOURCE_DIR}/tools/cmake/debian)
    set(CPACK_DEBIAN_COMMAND_PACKAGE_CONTROL_EXTRA
        ${PROJECT_BINARY_DIR}/package/conffiles ${scripts}/postinst ${scripts}/prerm ${scripts}/postrm)
    install(FILES ${examples}/glinfer.service ${examples}/glinfer.socket ${examples}/glinfer.default
        ${examples}/nginx.conf DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT command)
endif()
include(CPack)
