/* The settings of added experts (added.h). */
#include "serve/added/added.h"

#define ROW(member) FIELD(struct added_settings, member)

const struct field added_fields[] = {
    {"grow-max", "N", "largest number of profiles with added experts", ROW(max), .lo = 0,
     .hi = SERVICE_ADDED, .group = "added experts"},
    {"grow-experts", "N", "number of experts to add for each profile", ROW(experts),
     .lo = 1, .hi = NORGA_EXPERTS_MAX, .flags = FIELD_ADVANCED},
    {"grow-gate", "NAME",
     "activation in the gate of added experts: tanh, sigmoid, gelu or linear", ROW(gate),
     .words = norga_sigma_words, .flags = FIELD_ADVANCED},
    {0}};
