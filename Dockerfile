# SPDX-License-Identifier: MIT
# The compiler in a container:
#   docker build -t strata . && docker run --rm -v "$PWD:/work" strata build model.lua
# Programs that it makes need libc and nothing else: they run outside, too; with --blas openblas they
# hold OpenBLAS.
FROM debian:bookworm-slim AS build
WORKDIR /src
COPY . .
RUN top=/src && . cmake/setup.sh && setup_llvm && \
    setup_packages $BUILD_PACKAGES "llvm-$LLVM-dev" "clang-$LLVM" binutils dpkg-dev file && \
    setup_build /build "$LLVM" strata strata_runtime strata_shared && \
    cd /build && cpack -G DEB

FROM debian:bookworm-slim
COPY --from=build /build/strata_*_amd64.deb /tmp/
RUN apt-get update && \
    apt-get install -y --no-install-recommends /tmp/strata_*_amd64.deb \
        libopenblas-pthread-dev && \
    rm -rf /var/lib/apt/lists/* /tmp/strata_*_amd64.deb
WORKDIR /work
ENTRYPOINT ["strata"]
CMD ["--help"]
