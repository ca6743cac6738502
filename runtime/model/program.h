/* SPDX-License-Identifier: MIT
** The tables that a compiled model is made of.  The compiler writes them as constants
** (compiler/codegen/tables), and driver.c, which is linked into the model, executes them.  They
** contain indices and offsets, no pointers: the object needs no relocations in its data and has no
** writable data.
*/
#ifndef STRATA_PROGRAM_H
#define STRATA_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

/* Areas an operand can lie in.  The unit of 'offset' is a float; in TOKEN it
** is a float per token (the area holds one value after another). */
/* clang-format off */
enum {
    AREA_NONE,          /* no place: a number, 'offset' itself; 0 for no operand */
    AREA_WEIGHT, AREA_GRADIENT,
    AREA_TOKEN, AREA_LOCAL, AREA_GRANULE, AREA_CONSTANT,
    AREA_TABLE,         /* in the context: cos and sin, 'stride' a position */
    AREA_UNIFORM,       /* [0] seed, [1] 1 / tokens, [2] whether random numbers are drawn */
    AREA_TOKENS, AREA_TARGETS, AREA_POSITION,       /* int32, one per token */
    AREA_LIST_POSITION, /* int32, of the tokens of list number 'offset' */
    AREA_LOGITS,        /* the caller's [tokens, V] */
    AREA_MOMENT,        /* in TRAIN: where the first moment of a gradient is */
    AREAS
};
/* clang-format on */

/* Floats of an arena that are for the call itself: positions, then keys, values and past of cached
** attention, by token; and for a list of rows its head and words by token, LIST_BEYOND of which
** there are no tokens for. */
enum { CALL_FLOATS = 8, LIST_HEAD = 16, LIST_WORDS = 7, LIST_BEYOND = 64 };

/* Up to this many operands of a row kernel have their pointers on the stack, more have them in
** scratch. */
enum { FEW_REFS = 512 };

typedef struct Ref {
    int32_t area;
    int32_t stride; /* floats from one token's row to the next */
    int64_t offset;
} Ref;

/* What an action does, DO_..: anchors.def. */
enum {
#define ACTION(action, ...) DO_##action,
#define ANCHOR(op, action, ...) DO_##action,
#include "anchors.def"
};

/* The names of an action's references, in order: a byte for each, so that its offset is its number
** among them. */
#define ACTION(action, member, phase, run, ...) \
    struct RefsOf##action {                     \
        char __VA_ARGS__;                       \
    };
#define ANCHOR(op, action, member, results, set, phase, run, family, torch, ...) \
    ACTION(action, member, phase, run, __VA_ARGS__)
#include "anchors.def"
#define REF(action, name) ((int)offsetof(struct RefsOf##action, name))

/* Whether OpenBLAS multiplies: it cannot, it does if asked by the setup's flags, it does. */
enum { BLAS_CANNOT, BLAS_CAN, BLAS_DOES };

#define MEMBER(member, Type, ...) \
    typedef struct Type {         \
        __VA_ARGS__               \
    } Type;
#include "anchors.def"

typedef struct Action {
    int32_t what;
    int32_t ref, refs; /* in k_refs */
    int32_t profile;   /* in the kernel table; -1: it has no line there */
    int32_t list;      /* whose rows operands have; 0: all tokens */
    union {
#define MEMBER(member, Type, ...) Type member;
#include "anchors.def"
    };
} Action;

typedef struct Stage {
    int32_t first, count;
    int16_t global, sums;             /* sums: 1: over tokens, whole granules at a time */
    int32_t list;                     /* whose rows a token phase goes through; 0: all tokens */
    int64_t final_first, final_count; /* gradients final after it */
} Stage;

_Static_assert(sizeof(Stage) == 32, "an object has its bytes: there is no padding");

/* One of the programs of a model. */
typedef struct ModelProgram {
    int32_t phase, phases; /* in k_stages */
    int64_t token_floats, local_floats, granule_floats, constant_floats;
    int64_t packed_floats;   /* the room for packed weights that the largest phase needs */
    Ref result;              /* nll or loss terms, see call.c */
    Ref loss;                /* AREA_NONE: the loss is the cross entropy */
    int32_t region, regions; /* in k_regions; --check builds */
} ModelProgram;

/* clang-format off */
/* The programs of a model. */
enum {
    PROGRAM_LOGITS,
    PROGRAM_LOSS,
    PROGRAM_TRAIN,    /* a training step: the loss and its gradients */
    PROGRAM_GENERATE, /* logits and loss in the form that generates token by token: the two */
    PROGRAM_SCORE,    /* programs above if the model has one form */
    PROGRAM_PROBE,    /* what 'probe' looks at */
    PROGRAM_RULES,    /* a phase for each buffer: adds its new value to its first moment, 0 before */
    PROGRAMS
};
/* clang-format on */

/* A result of PROGRAM_PROBE: uniform, floats one after another. */
typedef struct ProbeResult {
    Ref ref;
    int64_t count;
} ProbeResult;

/* Floats of the gradients in TRAIN that no first DO_OUTER or DO_EXPERT_WEIGHT overwrites; they are
** zeroed before. */
typedef struct Span {
    int64_t first, count;
} Span;

/* Where the optimizer packs a matrix of weights, in TRAIN, behind gradients and moments: for
** products with it forward and backward; -1: it does not. */
typedef struct Repacked {
    int64_t forward, back;
} Repacked;

/* A table of cos or sin of position times frequency. */
typedef struct Wave {
    int64_t offset, count, frequency; /* in the table area; in k_frequencies */
    double scale;
    int32_t sine, ld;
} Wave;

enum { LENGTH_FLOATS = 16 };

/* A cache of keys and values: context / pool rows of them, rounded up, or as many as the
** state has for routed tokens.  Before it are 'offset' floats a position of the context,
** 'some_offset' a routed token, and 'fixed' more. */
typedef struct Cache {
    int64_t offset, some_offset, fixed;
    int32_t kept; /* KEPT_.. (kept_rows.h): what rows are */
    /* dk, dv: floats that a key, a value takes; dv: 0 where keys hold values; pool: positions of a
    ** row */
    int32_t groups, dk, dv, pool;
    int32_t list;  /* whose rows it has, how many is in front, LENGTH_FLOATS; 0: of all tokens */
    int32_t saves; /* 1: behind it is room for a row, should a call find no room elsewhere */
    /* of a ring, which has so many rows, whatever the context: position p is row p modulo ring;
    ** 'saves': behind it is room for all of them */
    int64_t ring;
} Cache;

/* --check builds: a value's own place in the arena, with a guard on each side. */
typedef struct CheckRegion {
    int32_t area, stride; /* floats of a row: per token, a granule, or all */
    int32_t guard;        /* the same, of each guard */
    int32_t first, last;  /* action that computes it, last one that uses it */
    int32_t stage;        /* after which it is free; -1: never */
    int64_t offset;
} CheckRegion;

/* --check builds: how far a reference goes, by its index in k_refs. */
typedef struct Reach {
    int64_t floats;           /* of row kernels: in a row, or in all if there is one */
    int32_t region, reserved; /* in k_regions; -1: outside the arena */
} Reach;

typedef struct Constants {
    int32_t waves, caches;
    int32_t chunk; /* tokens per task, at most; a multiple of the granule */
    int32_t granule;
    int64_t table_floats; /* of all waves */
    /* of all caches: a position, a routed token, and once */
    int64_t state_floats, state_some, state_fixed;
    int64_t carried_floats; /* before the caches: what operations over time carry */
    int64_t scratch_bytes;  /* a worker, row kernels' part */
    int64_t max_head;       /* largest head size */
    /* largest key and value of a recurrence, 0: there is none; whether there is one's gradient */
    int64_t recurrent_keys, recurrent_values, recurrent_back;
    int64_t gradients;             /* floats of gradients in TRAIN, and of first moments */
    int64_t second_moments;        /* the same of those */
    int64_t muon_floats;           /* what Muon works in; 0: it trains nothing */
    int32_t check, caches_at_once; /* attention steps in one phase, at most */
    int32_t probe_results;         /* in k_probe_results */
    int32_t lists, experts;        /* of rows: the largest number; 1: some products go by expert */
    int32_t bf16;                  /* products round their weights, tokens' values come rounded */
    int64_t small_steps;           /* of products with small weights, at most; 0: there are none */
    int64_t spans;                 /* in k_spans */
    int64_t repacked_floats;       /* of all that is put packed */
    int64_t trained;               /* floats of gradients before those of buffers */
    int64_t rules;                 /* phases of PROGRAM_RULES */
    int64_t blas;                  /* 1: OpenBLAS does some products */
    int64_t cache;                 /* KEPT_..: what caches keep, but those of averages */
    uint64_t cpu[4];               /* bits of processor features needed, see cpu.c */
} Constants;

extern const Constants k_constants;
extern const ModelProgram k_programs[];
extern const Stage k_stages[];
extern const Action k_actions[];
extern const Ref k_refs[];
extern const ProbeResult k_probe_results[];
extern const Span k_spans[];
extern const Repacked k_repacked[]; /* by tensor */
extern const CheckRegion k_regions[];
extern const Reach k_reaches[];
extern const Wave k_waves[];
extern const Cache k_caches[];
extern const double k_frequencies[];
extern const unsigned char k_model[]; /* strata_model and its tables */

/* Generated: row kernel number 'kernel' on tokens [first, first + count). */
void k_row(float *const *p, int64_t first, int64_t count, float *scratch, int32_t kernel);

/* C[rows, columns] (+)= A[rows, steps] B[steps, columns], row-major; 'how': which of these lie
** transposed, and whether C is added to. */
enum { LEFT_TRANSPOSED = 1, RIGHT_TRANSPOSED = 2, ADDED = 4 };
typedef struct BlasProduct {
    int64_t rows, columns, steps;
    const float *a;
    int64_t lda;
    const float *b;
    int64_t ldb;
    float *c;
    int64_t ldc, how;
} BlasProduct;

/* Generated: OpenBLAS does it.  Only where k_constants.blas is set. */
void k_sgemm(const BlasProduct *p);
/* Generated: OpenBLAS works in the threads that call it from here on; 0: they must not be
** several. */
int32_t k_blas_open(void);

#endif
