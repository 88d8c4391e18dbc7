# Build the release first (npm run release, or npm run release -- --preview), then: docker build -t svc .
# The image contains the archive and Node, no package manager and no compiler. It runs as uid 10001 and needs no writable root.

FROM debian:bookworm-slim AS unpacked
ARG VERSION=0.2.0
COPY dist/release/SHA256SUMS dist/release/svc-${VERSION}.tar.gz /release/
WORKDIR /release
RUN sha256sum --check --ignore-missing SHA256SUMS \
  && tar xzf "svc-${VERSION}.tar.gz" \
  && mv "svc-${VERSION}" /opt/svc

FROM node:24.21.0-bookworm-slim AS node

FROM debian:bookworm-slim
ARG VERSION=0.2.0
LABEL org.opencontainers.image.title="svc" \
  org.opencontainers.image.description="A merchant-facing payments API" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}"
# Certificate authorities for processors and webhooks come with Node.
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=unpacked /opt/svc /opt/svc
RUN groupadd --system --gid 10001 svc \
  && useradd --system --uid 10001 --gid svc --home-dir /var/lib/svc --shell /usr/sbin/nologin svc \
  && install -d -o svc -g svc -m 700 /var/lib/svc \
  && ln -s /opt/svc/bin/svc /usr/local/bin/svc
ENV HOST=0.0.0.0 \
  SVC_DATA_DIR=/var/lib/svc \
  SVC_HEALTH_PORT=8080
USER 10001:10001
WORKDIR /var/lib/svc
VOLUME /var/lib/svc
EXPOSE 8080 8081
STOPSIGNAL SIGTERM
# The API and a separate worker answer on 8080, a separate vault on 8081.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "const at = (port) => fetch(`http://127.0.0.1:${port}/healthz`).then((reply) => reply.ok || Promise.reject()); Promise.any([8080, 8081].map(at)).then(() => process.exit(0), () => process.exit(1))"]
ENTRYPOINT ["/opt/svc/bin/svc"]
CMD ["start"]
