# The daemon in a small image:
#
#   make web && docker build -t abrd .        (make web fetches the libraries of the pages)
#   docker run -p 8080:8080 -v abrd:/var/lib/abrd abrd
#
# It runs as the user abrd (999); its state is in the volume. The first start creates the token for
# changing profiles: docker exec ID cat /var/lib/abrd/token
#
# deploy/README.md describes compose and Kubernetes.
#
# The image does not contain the demo's video. On a machine with ffmpeg:
#
#   docker run --rm abrd cat /usr/local/share/doc/abrd/make-media.sh > make-media.sh
#   sh make-media.sh media
#   docker run -p 8080:8080 -v abrd:/var/lib/abrd -v "$PWD/media:/usr/local/share/abrd/media:ro" abrd

FROM debian:bookworm-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends make
WORKDIR /src
COPY Makefile .
RUN make deps-build && apt-get install -y --no-install-recommends ca-certificates
COPY . .
RUN make -j"$(nproc)" all man && make install-program DESTDIR=/out && \
    strip /out/usr/local/bin/abrd && rm -r /out/usr/local/lib/systemd

FROM debian:bookworm-slim
# OpenBLAS installs BLAS and LAPACK twice, under other names for other programs. Together with
# documentation they are a sixth of the installed files. Only the list of ca-certificates is used (by
# --origin https://...); its package would install openssl.
RUN apt-get update && apt-get install -y --no-install-recommends \
        curl libcurl4 libexpat1 libjansson4 libmicrohttpd12 libnats3.4 libopenblas0-pthread libsqlite3-0 \
        libsystemd0 && \
    rm -rf /usr/lib/*/openblas-pthread/libblas.so.3 /usr/lib/*/openblas-pthread/liblapack.so.3 \
        /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/apt/archives/*.deb /var/log/apt \
        /var/log/dpkg.log /var/cache/debconf/*-old && \
    find /usr/share/doc -type f ! -name copyright -delete && \
    useradd --system --uid 999 --create-home --home-dir /var/lib/abrd --shell /usr/sbin/nologin abrd
COPY --from=build /out/ /
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
USER abrd
WORKDIR /var/lib/abrd
VOLUME /var/lib/abrd
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=2s --start-period=5s \
    CMD curl -fsS http://127.0.0.1:8080/healthz || exit 1
CMD ["abrd", "serve", "--bind", "0.0.0.0", "--data", "/var/lib/abrd", \
     "--admin-token-file", "/var/lib/abrd/token"]
