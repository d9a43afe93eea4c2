# The daemon in a small image:
#
#   docker build -t abrd .
#   docker run -p 127.0.0.1:8080:8080 -v abrd:/var/lib/abrd abrd
#
# The daemon answers requests whose Host is localhost or an IP address. To use a name, give --host behind
# the command of the image:
#
#   docker run -p 8080:8080 -v abrd:/var/lib/abrd abrd abrd serve --bind 0.0.0.0 --data /var/lib/abrd \
#       --admin-token-file /var/lib/abrd/token --host abr.example.org
#
# It runs as the user abrd (999); its state is in the volume. The first start creates the token for
# changing profiles: docker exec ID cat /var/lib/abrd/token
#
# deploy/README.md describes compose and Kubernetes.
#
# The image contains the manual and the demo: libraries come from npm and the stream from ffmpeg, in a
# stage of their own. The host needs neither. A smaller image, without all of these:
#
#   docker build --build-arg DEMO=no -t abrd .

FROM debian:bookworm-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends make
WORKDIR /src
COPY Makefile .
RUN make deps-build && apt-get install -y --no-install-recommends ca-certificates
COPY . .
RUN make -j"$(nproc)" all man && make install-program DESTDIR=/out && \
    strip /out/usr/local/bin/abrd && rm -r /out/usr/local/lib/systemd

# what the demo needs. A registry of your own, and the certificates of a proxy that reads TLS:
#   docker build --secret id=npmrc,src=$HOME/.npmrc --secret id=ca,src=/etc/ssl/certs/ca-certificates.crt ...
FROM build AS demo
ARG DEMO=yes
RUN mkdir /demo && if [ "$DEMO" = yes ]; then make deps-pages; fi
RUN --mount=type=secret,id=npmrc --mount=type=secret,id=ca if [ "$DEMO" = yes ]; then \
    if [ -f /run/secrets/ca ]; then export NODE_EXTRA_CA_CERTS=/run/secrets/ca; fi; \
    NPM_CONFIG_USERCONFIG=/run/secrets/npmrc make web && \
    mkdir -p /demo/usr/local/share/abrd/web && cp -r web/vendor web/docs /demo/usr/local/share/abrd/web/ && \
    rm /demo/usr/local/share/abrd/web/docs/.done && \
    ABRD=/out/usr/local/bin/abrd sh web/tools/make-media.sh /demo/usr/local/share/abrd/media; fi

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
COPY --from=demo /demo/ /
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
USER abrd
WORKDIR /var/lib/abrd
VOLUME /var/lib/abrd
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=2s --start-period=5s \
    CMD curl -fsS http://127.0.0.1:8080/healthz || exit 1
CMD ["abrd", "serve", "--bind", "0.0.0.0", "--data", "/var/lib/abrd", \
     "--admin-token-file", "/var/lib/abrd/token"]
