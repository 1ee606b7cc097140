/*
 * From what arrived to where the answer goes: address vectors out of a
 * completion and its global route header.
 */
#include <errno.h>
#include <string.h>

#include "front/gid.h"
#include "front/infiniband.h"

#define FLOW_LABEL 0xfffffu
#define NO_VLAN 0xffffu
/* On Ethernet over IPv4 the header is in the last bytes of the 40. */
#define IPV4_AT 20
#define IPV4_SOURCE_AT (IPV4_AT + 12)
#define IPV4_DESTINATION_AT (IPV4_AT + 16)
#define IPV4_TIME_TO_LIVE_AT (IPV4_AT + 8)
#define IPV4_SERVICE_AT (IPV4_AT + 1)

static void map_ipv4(union ibv_gid *gid, const uint8_t *address)
{
    memset(gid->raw, 0, sizeof(gid->raw));
    gid->raw[10] = 0xff;
    gid->raw[11] = 0xff;
    memcpy(gid->raw + 12, address, 4);
}

/* Fills the route back; own is the address that the message was sent to. */
static void read_ipv6(const struct ibv_grh *grh, struct ibv_global_route *route,
                      union ibv_gid *own)
{
    uint8_t bytes[4];
    uint32_t word = 0;

    memcpy(bytes, &grh->version_tclass_flow, sizeof(bytes));
    for (int i = 0; i < 4; i++)
        word = word << 8 | bytes[i];
    route->dgid = grh->sgid;
    route->flow_label = word & FLOW_LABEL;
    route->traffic_class = (uint8_t)(word >> 20);
    route->hop_limit = grh->hop_limit;
    *own = grh->dgid;
}

static void read_ipv4(const struct ibv_grh *grh, struct ibv_global_route *route,
                      union ibv_gid *own)
{
    const uint8_t *bytes = (const uint8_t *)grh;

    map_ipv4(&route->dgid, bytes + IPV4_SOURCE_AT);
    map_ipv4(own, bytes + IPV4_DESTINATION_AT);
    route->traffic_class = bytes[IPV4_SERVICE_AT];
    route->hop_limit = bytes[IPV4_TIME_TO_LIVE_AT];
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num,
                        struct ibv_wc *wc, struct ibv_grh *grh,
                        struct ibv_ah_attr *ah_attr)
{
    union ibv_gid own;
    int index;

    memset(ah_attr, 0, sizeof(*ah_attr));
    ah_attr->dlid = wc->slid;
    ah_attr->sl = wc->sl;
    ah_attr->src_path_bits = wc->dlid_path_bits;
    ah_attr->port_num = port_num;
    if (!(wc->wc_flags & IBV_WC_GRH))
        return 0;
    ah_attr->is_global = 1;
    if (*(const uint8_t *)grh >> 4 == 6)
        read_ipv6(grh, &ah_attr->grh, &own);
    else
        read_ipv4(grh, &ah_attr->grh, &own);
    index = vf_find_gid(context, port_num, &own);
    if (index < 0)
        return -1;
    ah_attr->grh.sgid_index = (uint8_t)index;
    return 0;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
                                     struct ibv_grh *grh, uint8_t port_num)
{
    struct ibv_ah_attr attr;

    if (ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr) != 0)
        return NULL;
    return ibv_create_ah(pd, &attr);
}

/* A link-local address is made from its interface's own; the mock's IPv4
 * addresses name machine and device, as its interfaces do. */
static void interface_of(const uint8_t *gid, uint8_t mac[ETHERNET_LL_SIZE])
{
    static const uint8_t maker[4] = {0x02, 0x76, 0x66, 0x00};

    if (gid[0] == 0xfe && gid[1] == 0x80) {
        memcpy(mac, gid + 8, 3);
        memcpy(mac + 3, gid + 13, 3);
        mac[0] ^= 2;
        return;
    }
    memcpy(mac, maker, sizeof(maker));
    mac[4] = (uint8_t)(gid[14] - 1);
    mac[5] = (uint8_t)(gid[15] - 1);
}

int ibv_resolve_eth_l2_from_gid(struct ibv_context *context,
                                struct ibv_ah_attr *attr,
                                uint8_t eth_mac[ETHERNET_LL_SIZE],
                                uint16_t *vid)
{
    const uint8_t *gid = attr->grh.dgid.raw;

    (void)context;
    interface_of(gid, eth_mac);
    if (vid)
        *vid = NO_VLAN;
    return 0;
}
