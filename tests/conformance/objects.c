/*
 * Actions on everything but queue pairs and work: see bench.h.
 */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Is it there? If not, the line ends here, on both devices alike. */
static bool there(const void *object)
{
    if (!object)
        printf(" = (nothing there)\n");
    return object != NULL;
}

bool act_open(struct bench *bench, int device)
{
    static const char *const names[2] = {"rxe0", "rxe1"};
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    struct ibv_context *context = NULL;

    printf("open_device(%s)", names[device]);
    for (int i = 0; list && i < count; i++)
        if (strcmp(ibv_get_device_name(list[i]), names[device]) == 0)
            context = ibv_open_device(list[i]);
    say_pointer(context);
    printf("\n");
    if (list)
        ibv_free_device_list(list);
    bench->context[device] = context;
    if (context)
        ibv_query_gid(context, 1, 1, &bench->gid[device]);
    return context != NULL;
}

void act_close(struct bench *bench, int device)
{
    printf("close_device(rxe%d)", device);
    if (!there(bench->context[device]))
        return;
    say_result(ibv_close_device(bench->context[device]));
    bench->context[device] = NULL;
}

bool act_alloc_pd(struct bench *bench, int pd, int device)
{
    printf("alloc_pd(p%d)", pd);
    if (!there(bench->context[device]))
        return false;
    bench->pd[pd] = ibv_alloc_pd(bench->context[device]);
    say_pointer(bench->pd[pd]);
    printf("\n");
    return bench->pd[pd] != NULL;
}

void act_dealloc_pd(struct bench *bench, int pd)
{
    int result;

    printf("dealloc_pd(p%d)", pd);
    if (!there(bench->pd[pd]))
        return;
    result = ibv_dealloc_pd(bench->pd[pd]);
    say_result(result);
    if (result == 0)
        bench->pd[pd] = NULL;
}

static void *map(int protection)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory =
        mmap(NULL, 2 * page, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static void *address_of(struct bench *bench, enum place place, size_t offset)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory;

    switch (place) {
    case PLACE_NULL:
        return NULL;
    case PLACE_UNMAPPED:
        memory = map(PROT_READ | PROT_WRITE);
        munmap(memory, 2 * page);
        return memory;
    case PLACE_HALF:
        memory = map(PROT_READ | PROT_WRITE);
        munmap(memory + page, page);
        return memory;
    case PLACE_READ_ONLY:
        return map(PROT_READ);
    default:
        return bench->arena + offset;
    }
}

bool act_reg_mr(struct bench *bench, int mr, int pd, enum place place,
                size_t offset, size_t length, int access)
{
    void *address = address_of(bench, place, offset);

    printf("reg_mr(m%d p%d %s+%zu len=%zu access=0x%x)", mr, pd,
           place_word(place), offset, length, (unsigned)access);
    if (!there(bench->pd[pd]))
        return false;
    /* the function: the macro of that name looks at access by itself */
    bench->mr[mr] = (ibv_reg_mr)(bench->pd[pd], address, length, access);
    say_pointer(bench->mr[mr]);
    if (bench->mr[mr])
        printf(" length=%zu at=%s pd=%s", bench->mr[mr]->length,
               bench->mr[mr]->addr == address ? "same" : "other",
               bench->mr[mr]->pd == bench->pd[pd] ? "same" : "other");
    printf("\n");
    return bench->mr[mr] != NULL;
}

void act_dereg_mr(struct bench *bench, int mr)
{
    uint32_t lkey, rkey;
    int result;

    printf("dereg_mr(m%d)", mr);
    if (!there(bench->mr[mr]))
        return;
    lkey = bench->mr[mr]->lkey;
    rkey = bench->mr[mr]->rkey;
    result = ibv_dereg_mr(bench->mr[mr]);
    say_result(result);
    if (result == 0) {
        bench->mr[mr] = NULL;
        bench->dead_lkey = lkey;
        bench->dead_rkey = rkey;
    }
}

bool act_create_cq(struct bench *bench, int cq, int device, int entries,
                   int vector, bool channel)
{
    printf("create_cq(c%d cqe=%d vector=%d%s)", cq, entries, vector,
           channel ? " channel" : "");
    if (!there(bench->context[device]))
        return false;
    bench->cq[cq] = ibv_create_cq(bench->context[device], entries, NULL,
                                  channel ? bench->channel : NULL, vector);
    say_pointer(bench->cq[cq]);
    if (bench->cq[cq])
        printf(" cqe=%d", bench->cq[cq]->cqe);
    printf("\n");
    return bench->cq[cq] != NULL;
}

void act_resize_cq(struct bench *bench, int cq, int entries)
{
    int result;

    printf("resize_cq(c%d cqe=%d)", cq, entries);
    if (!there(bench->cq[cq]))
        return;
    result = ibv_resize_cq(bench->cq[cq], entries);
    printf(" now %d", bench->cq[cq]->cqe);
    say_result(result);
}

void act_destroy_cq(struct bench *bench, int cq)
{
    int result;

    printf("destroy_cq(c%d)", cq);
    if (!there(bench->cq[cq]))
        return;
    result = ibv_destroy_cq(bench->cq[cq]);
    say_result(result);
    if (result == 0)
        bench->cq[cq] = NULL;
}

void act_create_channel(struct bench *bench)
{
    printf("create_comp_channel()");
    bench->channel = ibv_create_comp_channel(bench->context[0]);
    say_pointer(bench->channel);
    printf("\n");
}

void act_destroy_channel(struct bench *bench)
{
    int result;

    printf("destroy_comp_channel()");
    if (!there(bench->channel))
        return;
    result = ibv_destroy_comp_channel(bench->channel);
    say_result(result);
    if (result == 0)
        bench->channel = NULL;
}

bool act_create_srq(struct bench *bench, int srq, int pd, uint32_t wr,
                    uint32_t sge)
{
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = wr, .max_sge = sge}};

    printf("create_srq(s%d p%d wr=%u sge=%u)", srq, pd, wr, sge);
    if (!there(bench->pd[pd]))
        return false;
    bench->srq[srq] = ibv_create_srq(bench->pd[pd], &attr);
    say_pointer(bench->srq[srq]);
    if (bench->srq[srq])
        printf(" wr=%u sge=%u", attr.attr.max_wr, attr.attr.max_sge);
    printf("\n");
    return bench->srq[srq] != NULL;
}

void act_modify_srq(struct bench *bench, int srq, uint32_t wr, uint32_t limit,
                    int mask)
{
    struct ibv_srq_attr attr = {.max_wr = wr, .srq_limit = limit};

    printf("modify_srq(s%d wr=%u limit=%u mask=0x%x)", srq, wr, limit,
           (unsigned)mask);
    if (there(bench->srq[srq]))
        say_result(ibv_modify_srq(bench->srq[srq], &attr, mask));
}

void act_query_srq(struct bench *bench, int srq)
{
    struct ibv_srq_attr attr = {0};
    int result;

    printf("query_srq(s%d)", srq);
    if (!there(bench->srq[srq]))
        return;
    result = ibv_query_srq(bench->srq[srq], &attr);
    if (result == 0)
        printf(" wr=%u sge=%u limit=%u", attr.max_wr, attr.max_sge,
               attr.srq_limit);
    say_result(result);
}

void act_destroy_srq(struct bench *bench, int srq)
{
    int result;

    printf("destroy_srq(s%d)", srq);
    if (!there(bench->srq[srq]))
        return;
    result = ibv_destroy_srq(bench->srq[srq]);
    say_result(result);
    if (result == 0)
        bench->srq[srq] = NULL;
}

bool act_create_ah(struct bench *bench, int ah, int pd, int device,
                   int sgid_index, bool global, int port)
{
    struct ibv_ah_attr attr = {
        .grh = {.dgid = bench->gid[device],
                .sgid_index = (uint8_t)sgid_index,
                .hop_limit = 64},
        .is_global = global,
        .port_num = (uint8_t)port,
    };

    printf("create_ah(a%d p%d to=rxe%d sgid_index=%d%s port=%d)", ah, pd,
           device, sgid_index, global ? "" : " not-global", port);
    if (!there(bench->pd[pd]))
        return false;
    bench->ah[ah] = ibv_create_ah(bench->pd[pd], &attr);
    say_pointer(bench->ah[ah]);
    printf("\n");
    return bench->ah[ah] != NULL;
}

void act_destroy_ah(struct bench *bench, int ah)
{
    int result;

    printf("destroy_ah(a%d)", ah);
    if (!there(bench->ah[ah]))
        return;
    result = ibv_destroy_ah(bench->ah[ah]);
    say_result(result);
    if (result == 0)
        bench->ah[ah] = NULL;
}

bool act_alloc_mw(struct bench *bench, int mw, int pd, int type)
{
    printf("alloc_mw(w%d p%d type=%d)", mw, pd, type);
    if (!there(bench->pd[pd]))
        return false;
    bench->mw[mw] = ibv_alloc_mw(bench->pd[pd], (enum ibv_mw_type)type);
    say_pointer(bench->mw[mw]);
    printf("\n");
    return bench->mw[mw] != NULL;
}

void act_dealloc_mw(struct bench *bench, int mw)
{
    int result;

    printf("dealloc_mw(w%d)", mw);
    if (!there(bench->mw[mw]))
        return;
    result = ibv_dealloc_mw(bench->mw[mw]);
    say_result(result);
    if (result == 0)
        bench->mw[mw] = NULL;
}

/* One line a field, so that one difference does not hide another one; rows.c
 * has a sequence for each field's name. */
void act_query_device(struct bench *bench, int device)
{
    struct ibv_device_attr a;
    int result = ibv_query_device(bench->context[device], &a);

    printf("query_device()");
    say_result(result);
    if (result != 0)
        return;
    printf("  max_qp=%d max_qp_wr=%d max_sge=%d max_sge_rd=%d\n", a.max_qp,
           a.max_qp_wr, a.max_sge, a.max_sge_rd);
    printf("  max_cq=%d max_cqe=%d max_mr=%d max_pd=%d max_mw=%d\n", a.max_cq,
           a.max_cqe, a.max_mr, a.max_pd, a.max_mw);
    printf("  max_srq=%d max_srq_wr=%d max_srq_sge=%d max_ah=%d\n", a.max_srq,
           a.max_srq_wr, a.max_srq_sge, a.max_ah);
    printf("  max_qp_rd_atom=%d max_qp_init_rd_atom=%d max_res_rd_atom=%d\n",
           a.max_qp_rd_atom, a.max_qp_init_rd_atom, a.max_res_rd_atom);
    printf("  flags=0x%x page_size_cap=0x%llx max_mr_size=0x%llx\n",
           a.device_cap_flags, (unsigned long long)a.page_size_cap,
           (unsigned long long)a.max_mr_size);
    printf("  atomic_cap=%d max_pkeys=%d ack_delay=%d ports=%d\n", a.atomic_cap,
           a.max_pkeys, a.local_ca_ack_delay, a.phys_port_cnt);
    printf("  mcast=%d/%d/%d vendor=0x%x part=%u hw=%u fw=%s\n",
           a.max_mcast_grp, a.max_mcast_qp_attach, a.max_total_mcast_qp_attach,
           a.vendor_id, a.vendor_part_id, a.hw_ver, a.fw_ver);
    printf("  ee=%d eec=%d rdd=%d raw=%d/%d fmr=%d/%d ee_atom=%d/%d\n",
           a.max_ee, a.max_ee_rd_atom, a.max_rdd, a.max_raw_ipv6_qp,
           a.max_raw_ethy_qp, a.max_fmr, a.max_map_per_fmr,
           a.max_ee_init_rd_atom, a.max_ee_rd_atom);
}

void act_query_port(struct bench *bench, int device, int port)
{
    struct ibv_port_attr a;
    int result;

    memset(&a, 0, sizeof(a));
    printf("query_port(%d)", port);
    result = ibv_query_port(bench->context[device], (uint8_t)port, &a);
    say_result(result);
    if (result != 0)
        return;
    printf("  state=%d phys_state=%d max_mtu=%d active_mtu=%d link_layer=%d\n",
           a.state, a.phys_state, a.max_mtu, a.active_mtu, a.link_layer);
    printf("  gid_tbl_len=%d pkey_tbl_len=%d max_msg_sz=%u\n", a.gid_tbl_len,
           a.pkey_tbl_len, a.max_msg_sz);
    printf("  cap_flags=0x%x lid=%d lmc=%d sm_lid=%d sm_sl=%d max_vl=%d\n",
           a.port_cap_flags, a.lid, a.lmc, a.sm_lid, a.sm_sl, a.max_vl_num);
    printf("  width=%d speed=%d subnet_timeout=%d init_type=%d flags=%d\n",
           a.active_width, a.active_speed, a.subnet_timeout, a.init_type_reply,
           a.flags);
}

void act_query_gid(struct bench *bench, int device, int port, int index)
{
    union ibv_gid gid;
    int result;

    memset(&gid, 0, sizeof(gid));
    errno = 0;
    printf("query_gid(port=%d index=%d)", port, index);
    result = ibv_query_gid(bench->context[device], (uint8_t)port, index, &gid);
    if (result == 0)
        printf(" %s", gid_word(&gid));
    say_result(result);
}

void act_query_pkey(struct bench *bench, int device, int port, int index)
{
    __be16 pkey = 0;
    int result;

    errno = 0;
    printf("query_pkey(port=%d index=%d)", port, index);
    result =
        ibv_query_pkey(bench->context[device], (uint8_t)port, index, &pkey);
    if (result == 0)
        printf(" 0x%x", (unsigned)pkey);
    say_result(result);
}
