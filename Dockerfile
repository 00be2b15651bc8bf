# syntax=docker/dockerfile:1
# The image of a release: goreleaser puts the program of each platform beside this file. The base has certificates, time zones and the user nonroot (65532), and
# no shell; toolsets that start programs need an image of your own on top of this one.
#
#   docker run -p 7788:7788 -e HOCKET_TOKEN -v hocket:/home/nonroot ghcr.io/hocket-run/hocket
FROM gcr.io/distroless/static-debian13:nonroot
ARG TARGETPLATFORM
COPY ${TARGETPLATFORM}/hocket /usr/bin/hocket
ENV HOCKET_HOME=/home/nonroot
WORKDIR /home/nonroot
VOLUME /home/nonroot
EXPOSE 7788
ENTRYPOINT ["/usr/bin/hocket"]
CMD ["serve", "--addr", "0.0.0.0:7788"]
