/* What tune.c finds and tune_table.c prints: the ways that a launch of a kernel may take, and their times. */
#ifndef TUNE_H
#define TUNE_H

#include "command/command.h"

enum { MAX_ROUNDS = 25 };

struct way { /* a partition, and a variant for each of its launches */
    int partition;
    int variants[FX_MAX_LAUNCHES]; /* by launch of the partition */
    int number;   /* in the order in which they were found */
    int n_unlike; /* launches whose variant is of another kind than the plan takes: as a rule it can do more than is asked */
    struct fx_prediction predicted;
    bool is_plans;       /* it is what a launch takes by itself */
    bool is_open;        /* it is timed on */
    const char *why_not; /* it has no time; NULL: it has, or is to get one */
    int batch;           /* launches between two events */
    int n_rounds;
    double us[MAX_ROUNDS]; /* of a launch, by round */
    double median, least;  /* of those; 0: none */
};

struct tuning { /* of a kernel at given extents */
    struct job *job;
    struct way *ways; /* by what is predicted, then, once timed, by what was measured */
    int n_ways, room;
    int n_timed;
    double seconds;    /* that it took */
    double budget;     /* that it may take */
    int most;          /* ways to be timed */
    bool is_first;     /* of several that are printed */
    bool is_json, is_csv;
    const char *db;    /* where the fastest is kept; "": nowhere */
    char kept[512];    /* what became of that, for people */
    bool is_plan_only; /* nothing is timed: there may be no GPU */
};

/* "M=300 K=4096", labels of parts left out. */
void print_extents(FILE *to, const struct job *job, const char *separator);
struct fx_partition partition_of(const struct tuning *t, const struct way *w);
const struct fx_variant *variant_of(const struct tuning *t, const struct way *w, int launch);
/* The ways as they are ranked: a table, lines of CSV, or an object of JSON. */
fx_status print_tuning(const struct tuning *t);

#endif
