#include "serve/cluster/cluster_cfg.h"

#include "support/suites.h"

TEST(roles_have_names)
{
    ck_assert_str_eq(cluster_role_name(ROLE_STANDALONE), "standalone");
    ck_assert_str_eq(cluster_role_name(ROLE_DECIDE), "decide");
    ck_assert_str_eq(cluster_role_name(ROLE_LEARN), "learn");
}

static void refused(struct cluster_cfg c, const char *field)
{
    struct err e = {0};
    ck_assert_int_lt(cluster_cfg_check(&c, &e), 0);
    ck_assert_str_eq(e.field, field);
}

TEST(what_cannot_be_is_named)
{
    struct cluster_cfg c = cluster_cfg_default();
    ck_assert_int_eq(cluster_cfg_check(&c, NULL), 0);
    c.url = "nats://h:4222";
    refused(c, "bus"); /* a bus without a role */
    c.url = NULL;
    c.number = 256;
    refused(c, "node-number");
    c.number = 255;
    ck_assert_int_eq(cluster_cfg_check(&c, NULL), 0);
    c.url = "nats://h:4222";
    c.role = ROLE_DECIDE;
    ck_assert_int_eq(cluster_cfg_check(&c, NULL), 0);
    c.url = NULL;
    refused(c, "bus");
    c.url = "nats://h:4222";
    c.name = "a.b";
    refused(c, "bus-name");
    c.name = "";
    refused(c, "bus-name");
    c.name = "abrd";
    c.replicas = 2;
    refused(c, "bus-replicas");
    c.replicas = 3;
    c.buffer = 0;
    refused(c, "bus-buffer");
    c.buffer = 9;
    c.stream_mb = -1;
    refused(c, "bus-stream-mb");
}

SUITE(serve_cluster_cluster_cfg, roles_have_names, what_cannot_be_is_named);
