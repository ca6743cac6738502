/* SPDX-License-Identifier: MIT
** x86-64: levels are found by features, never by a processor's name, which can be wrong where the
** features are right.
*/
#include "levels.h"
#include "target.h"

#include <sys/syscall.h>
#include <unistd.h>
#include <llvm-c/Target.h>

#define TARGET_ROWS "x86_64/rows.def" /* from here on */

const Target target_x86_64;

static const Level level[] = {
#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) \
    { &target_x86_64,                                               \
      name,                                                         \
      cpu,                                                          \
      more,                                                         \
      LEVEL_##library,                                              \
      lanes,                                                        \
      (NEEDS_##library & FEATURE_FMA) != 0,                         \
      NEEDS_##library,                                              \
      (NEEDS_##library & FEATURE_BF16) != 0,                        \
      (NEEDS_##library & FEATURE_BF16) != 0,                        \
      (NEEDS_##library & FEATURE_AMX) != 0,                         \
      (NEEDS_##library & (FEATURE_BF16 | FEATURE_AVXVNNI)) != 0     \
          && !(NEEDS_##library & FEATURE_AMX),                      \
      cache },
#include "levels.def"
};

static const TargetProcessor processor[] = {
#define PROCESSOR(name, level, special) { name, LEVEL_##level, LEVEL_##special },
#include "levels.def"
};

#ifdef __x86_64__
/* The system, too, must let processes have tiles: ARCH_REQ_XCOMP_PERM of XFEATURE_XTILEDATA. */
static bool tiles_allowed(void) { return !syscall(SYS_arch_prctl, 0x1023, 18); }

static uint64_t host_features(const char *features) {
    uint64_t found = 0;
#define FEATURE(name, text, llvm, test) \
    if (target_has(features, llvm)) found |= FEATURE_##name;
#include "levels.def"
    if (found & FEATURE_AMX && !tiles_allowed()) found &= ~(uint64_t)FEATURE_AMX;
    return found;
}
#else
#define host_features NULL
#endif

static void initialise(void) {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
}

/* As OpenBLAS names its kernels. */
static const TargetBlasCore blas_core[] = {
    { "SkylakeX", 512, true },     { "Cooperlake", 512, false }, { "SapphireRapids", 512, false },
    { "Haswell", 256, true },      { "Zen", 256, false },        { "Excavator", 256, false },
    { "Steamroller", 256, false }, { "Piledriver", 256, false }, { "Bulldozer", 256, false },
    { "Sandybridge", 256, false }, { "Prescott", 128, false },   { "Core2", 128, false },
    { "Penryn", 128, false },      { "Dunnington", 128, false }, { "Nehalem", 128, false },
    { "Athlon", 128, false },      { "Opteron", 128, false },    { "Opteron_SSE3", 128, false },
    { "Barcelona", 128, false },   { "Bobcat", 128, false },     { "Nano", 128, false },
    { "Atom", 128, false },        { "Katmai", 128, false },     { "Coppermine", 128, false },
    { "Northwood", 128, false },   { "Banias", 128, false },
};

/* Loop strength reduction is quadratic in the rows a kernel reads and gains nothing here: base and
** index are added for free. */
static const char *const options[] = { "-disable-lsr", NULL };

#define COUNT(rows) (int)(sizeof(rows) / sizeof *(rows))

const Target target_x86_64 = {
#define TARGET(name_, triple_, clang) .name = #name_, .triple = triple_,
#include "levels.def"
    .plain = "x86-64",
    .least = "SSE4.2",
    .example = "haswell",
    .initialise = initialise,
    .host = host_features,
    .level = level,
    .processor = processor,
    .blas_core = blas_core,
    .levels = COUNT(level),
    .processors = COUNT(processor),
    .blas_cores = COUNT(blas_core),
    .options = options,
    .rates = {
        /* With vectors of 16 floats products take half the time or, in tiles, a tenth, and wait for
        ** weights as long (measured at D 512 and 768: float32 +6 %, bfloat16 in tiles +4 to +6 %
        ** tokens per second). */
        .smallest_chunk = 64, .largest_chunk = 256, .wide_chunk = 512,
        /* So dear that no smaller chunk is taken where 64 to 512 tokens were measured alike (D 128
        ** and 256, hidden 1024). */
        .weight_price = 4,
        /* measured with AVX2 */
        .tile_steps = 8, .packing = 16,
    },
};
