# Libraries that bring all they need: OpenSSL, libsodium and the C++ library are linked into them from their archives, and are seen by nobody.
# The command zlink does so, too.
#
# What is left to others is the C library, and the unwinder (libgcc_s, or what the linker of a program takes for it): pthread_cancel
# unwinds with that of the process, and only it can read what it hands to the functions on its way.

set(ZLINK_CXX_ARCHIVES "" CACHE STRING "Archives of the C++ library for ZLINK_BUNDLED, where it is not the compiler's libstdc++.a")

# Finds the archives that go into a bundled library, and names those that are not there.
function(zlink_find_archives archives missing)
    set(found)
    set(lacking)
    set(names)
    set(beside_openssl)
    if(WITH_TLS)
        list(APPEND names ssl crypto)
        cmake_path(GET OPENSSL_CRYPTO_LIBRARY PARENT_PATH beside_openssl)
    endif()
    if(WITH_CURVE)
        list(APPEND names sodium)
    endif()
    foreach(name ${names})
        find_library(ZLINK_ARCHIVE_OF_${name} lib${name}.a HINTS ${beside_openssl} ${SODIUM_LIBDIR} ${SODIUM_LIBRARY_DIRS})
        mark_as_advanced(ZLINK_ARCHIVE_OF_${name})
        if(ZLINK_ARCHIVE_OF_${name})
            list(APPEND found ${ZLINK_ARCHIVE_OF_${name}})
        else()
            list(APPEND lacking lib${name}.a)
        endif()
    endforeach()
    set(${archives} ${found} PARENT_SCOPE)
    set(${missing} ${lacking} PARENT_SCOPE)
endfunction()

# Gives a shared library the objects, and these archives.
function(zlink_bundle_shared target)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:zlink_objects>)
    target_link_libraries(${target} PRIVATE ${ARGN} zlink_flags Threads::Threads ${CMAKE_DL_LIBS})
    target_link_options(${target} PRIVATE -static-libstdc++ -shared-libgcc)
endfunction()

# Gives a program the objects, and these archives: whichever libzmq.so.5 there is, it runs on its own.
function(zlink_bundle_program target)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:zlink_objects>)
    target_link_libraries(${target} PRIVATE ${ARGN} zlink_flags Threads::Threads ${CMAKE_DL_LIBS})
    target_link_options(${target} PRIVATE -static-libstdc++)
endfunction()

# Makes one object of the objects and these archives, in which nothing is global but the interface.
function(zlink_bundle_static target)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:zlink_objects>)
    target_link_libraries(${target} INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
    set(of_cxx ${ZLINK_CXX_ARCHIVES})
    if(NOT of_cxx)
        execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.a OUTPUT_VARIABLE of_cxx
                        OUTPUT_STRIP_TRAILING_WHITESPACE)
    endif()
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    add_custom_command(
        TARGET ${target} POST_BUILD
        COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/one_object.py $<TARGET_FILE:${target}>
                ${PROJECT_SOURCE_DIR}/cmake/libzmq.map ${CMAKE_LINKER} ${CMAKE_OBJCOPY} ${CMAKE_AR} ${ARGN} ${of_cxx}
        VERBATIM)
endfunction()
