# syntax=docker/dockerfile:1
# The image: a static program on a base with certificates, time zones and the user nonroot (65532), and no shell. Its root may be read-only; toolsets that start
# programs need an image of your own on top of this one. There is no HEALTHCHECK: /healthz and /readyz are for the probes of what runs the container.
#
#   docker build -t hocket .
#   docker run -p 7788:7788 -e HOCKET_TOKEN -v hocket:/home/nonroot hocket
#
# FROM_STAGE is where the program comes from: source builds it; release takes the one that goreleaser puts beside this file for each platform.
# MODULE is the folder of its module: --build-arg MODULE=temporal makes an image whose hocket can use Temporal.
ARG FROM_STAGE=source

FROM --platform=$BUILDPLATFORM golang:1.26 AS source
ARG TARGETOS TARGETARCH
ARG MODULE
WORKDIR /src
COPY go.mod go.sum ./
COPY temporal/go.mod temporal/go.sum temporal/
RUN --mount=type=cache,target=/go/pkg/mod go mod download -C "${MODULE:-.}"
COPY . .
# The flags are those of the Makefile.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/cache \
    export GOCACHE=/cache && CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -C "${MODULE:-.}" -trimpath -tags=grpcnotrace -ldflags="-s -w" -o /out/hocket ./cmd/... && \
    go run ./internal/cmd/notice "${MODULE:-.}" && cp LICENSE "${MODULE:-.}/NOTICE" /out/

FROM scratch AS release
ARG TARGETPLATFORM
COPY ${TARGETPLATFORM}/hocket LICENSE NOTICE /out/

FROM ${FROM_STAGE} AS program

FROM gcr.io/distroless/static-debian13:nonroot
COPY --from=program /out/hocket /usr/bin/hocket
COPY --from=program /out/LICENSE /out/NOTICE /usr/share/doc/hocket/
ENV HOCKET_HOME=/home/nonroot
WORKDIR /home/nonroot
VOLUME /home/nonroot
EXPOSE 7788
USER 65532:65532
ENTRYPOINT ["/usr/bin/hocket"]
CMD ["serve", "--addr", "0.0.0.0:7788"]
