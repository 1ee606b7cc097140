# Which of the newest verbs.h the one in VERBS_INCLUDE lacks, that this project
# uses: VF_LACKS_... for mocks/front/infiniband.h, which supplies it. rdma-core
# 42 and later lack nothing; 28 is the oldest that is enough.
include(CheckCSourceCompiles)

function(verbs_lacks FEATURE BODY)
  check_c_source_compiles(
    "#include <infiniband/verbs.h>\nint main(void) { ${BODY} return 0; }"
    VERBS_HAS_${FEATURE})
  if(NOT VERBS_HAS_${FEATURE})
    target_compile_definitions(verbfault_flags INTERFACE VF_LACKS_${FEATURE})
  endif()
endfunction()

set(ATOMIC_WRITE "struct ibv_qp_ex qp; (void)IBV_WR_ATOMIC_WRITE; \
(void)qp.wr_atomic_write;")
set(FAST_RATES "(void)IBV_RATE_800_GBPS; (void)IBV_RATE_1200_GBPS;")
set(PORT_COUNT "struct ibv_device_attr_ex attr; (void)attr.phys_port_cnt_ex;")
set(FORK_STATUS "enum ibv_fork_status status = IBV_FORK_UNNEEDED; \
(void)status;")
set(GID_ENTRY "struct ibv_gid_entry entry; (void)sizeof(entry.gid_type); \
(void)IBV_GID_TYPE_ROCE_V2; (void)&ibv_query_gid_ex;")
set(ECE "struct ibv_ece ece; (void)sizeof(ece.options);")
set(CQ_DOMAIN "(void)IBV_CQ_INIT_ATTR_MASK_PD;")

# What is named in no other check, and that no header may be without.
set(LEAST "struct ibv_cq_init_attr_ex attr; (void)attr.flags; \
(void)IBV_ACCESS_OPTIONAL_RANGE; (void)&ibv_wr_start; (void)&ibv_start_poll;")

set(CMAKE_REQUIRED_INCLUDES ${VERBS_INCLUDE})
# Names that C99 lacks and old versions of the header use.
set(CMAKE_REQUIRED_DEFINITIONS -D_DEFAULT_SOURCE -D_DARWIN_C_SOURCE)
# Not linked: the library beneath need not be there.
set(TRY_COMPILE_BEFORE ${CMAKE_TRY_COMPILE_TARGET_TYPE})
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
check_c_source_compiles(
  "#include <infiniband/verbs.h>\nint main(void) { ${LEAST} return 0; }"
  VERBS_ENOUGH)
if(NOT VERBS_ENOUGH)
  message(FATAL_ERROR "${VERBS_INCLUDE}/infiniband/verbs.h does not compile or "
                      "is older than rdma-core 28: install a newer "
                      "libibverbs-dev, or name another folder with "
                      "-DVERBS_INCLUDE=")
endif()
foreach(FEATURE ATOMIC_WRITE FAST_RATES PORT_COUNT FORK_STATUS GID_ENTRY ECE
                CQ_DOMAIN)
  verbs_lacks(${FEATURE} "${${FEATURE}}")
endforeach()
set(CMAKE_TRY_COMPILE_TARGET_TYPE ${TRY_COMPILE_BEFORE})
