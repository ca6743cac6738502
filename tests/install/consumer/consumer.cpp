/* SPDX-License-Identifier: MIT */
// Prints logits of the embedded model at weights that are all 1/8: another mixer,
// another number.  No library but the model's object.
#include "echoing.h"

#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

namespace {

// Memory of a region, aligned as the header asks.
class Region {
public:
    explicit Region(size_t bytes) : at_(std::aligned_alloc(STRATA_ALIGN, (bytes / STRATA_ALIGN + 1) * STRATA_ALIGN)) {
        if (!at_) throw std::bad_alloc();
    }
    ~Region() { std::free(at_); }
    Region(const Region &) = delete;
    Region &operator=(const Region &) = delete;
    void *at() const { return at_; }

private:
    void *at_;
};

int check(int32_t status, const char *what) {
    if (status != STRATA_OK) std::fprintf(stderr, "%s: %s\n", what, echo_strerror(status));
    return status;
}

} // namespace

int main() {
    const int32_t tokens[] = { 3, 1, 4, 1, 5 };
    const int64_t n = sizeof tokens / sizeof *tokens;
    Region ctx(ECHO_CTX_BYTES), weights(ECHO_WEIGHTS_BYTES), arena(echo_arena_bytes(n, 1));
    std::vector<float> logits(n * ECHO_VOCAB);
    float *w = static_cast<float *>(weights.at());
    for (size_t i = 0; i < ECHO_WEIGHTS_BYTES / sizeof *w; i++) w[i] = 0.125f + 0.001f * static_cast<float>(i % 7);
    strata_setup serial = {};
    serial.struct_size = sizeof serial;
    serial.workers = 1;
    if (check(echo_init(ctx.at(), ECHO_CTX_BYTES, &serial), "echo_init")) return 1;
    if (check(echo_logits(ctx.at(), w, arena.at(), tokens, 1, n, logits.data()), "echo_logits")) return 1;
    std::printf("%.6f\n", static_cast<double>(logits.back()));
    return 0;
}
