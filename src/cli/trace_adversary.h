/* trace_adversary.h - the command `abrd trace adversary`: links on which a policy does worst (abr/adversary.h),
 * as traces and as a report.
 *
 * A row per link and policy, in the order of the searched policy's shares, and one row per policy over
 * all links, whose link is "all":
 *   link, policy, profile
 *   share                of the offline optimum's QoE; the mean over the links for "all"
 *   worst                the smallest share ("all")
 *   begin                mean share of the random links that the searches began with ("all")
 *   qoe, optimum, bound  per counted chunk; no plan earns more than bound
 *   stall_s, optimum_stall_s   of the session, without the start
 *   mean_mbps            of the link
 *
 * Threads: main thread. */
#ifndef CLI_TRACE_ADVERSARY_H
#define CLI_TRACE_ADVERSARY_H

int trace_adversary_command(int argc, char **argv);

#endif
