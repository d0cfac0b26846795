# What somebody passes who configures libzmq: options that mean something here are heard, the others are named as without effect.

# Turns an option of ours off where one of libzmq's that stands for the same has been turned off.
function(zlink_turn_off ours)
    foreach(theirs ${ARGN})
        if(DEFINED ${theirs} AND NOT ${theirs})
            message(STATUS "zlink: ${theirs} is off, and so is ${ours}")
            set(${ours} OFF PARENT_SCOPE)
        endif()
    endforeach()
endfunction()

zlink_turn_off(WITH_CURVE ENABLE_CURVE WITH_LIBSODIUM)
zlink_turn_off(WITH_WS ENABLE_WS)
if(DISABLE_WS)
    message(STATUS "zlink: DISABLE_WS is on, and WITH_WS is off")
    set(WITH_WS OFF)
endif()
if(DEFINED ZMQ_BUILD_TESTS)
    set(BUILD_TESTS ${ZMQ_BUILD_TESTS})
endif()
if(DEFINED LIBZMQ_WERROR)
    set(ZLINK_WERROR ${LIBZMQ_WERROR})
endif()

foreach(theirs
        API_POLLER
        ENABLE_CPACK
        ENABLE_INTRINSICS
        ENABLE_NO_EXPORT
        ENABLE_RADIX_TREE
        LIBZMQ_PEDANTIC
        POLLER
        WITH_DOC
        WITH_DOCS
        WITH_GSSAPI_KRB5
        WITH_LIBBSD
        WITH_LIBSODIUM_RANDOMBYTES_CLOSE
        WITH_MILITANT
        WITH_NORM
        WITH_NSS
        WITH_OPENPGM
        WITH_PERF_TOOL
        WITH_TIPC
        WITH_VMCI
        ZMQ_CV_IMPL)
    if(DEFINED ${theirs})
        list(APPEND zlink_without_effect ${theirs})
    endif()
endforeach()
if(zlink_without_effect)
    list(JOIN zlink_without_effect ", " zlink_without_effect)
    message(STATUS "zlink: without effect here: ${zlink_without_effect}")
endif()
