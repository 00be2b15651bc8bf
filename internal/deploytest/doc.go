// Package deploytest tests the deployment files of Hocket: Dockerfile, compose.yaml and the
// manifests in deploy/kubernetes.
//
// It is a separate module so that Hocket depends on neither Kubernetes nor Compose. Manifests are
// decoded strictly into the Kubernetes types, and compose.yaml with the Compose loader. If an image
// builder is available, the image is built. In any case the commands of the services run as
// processes on this machine, with the environment of compose.yaml; when the tests run as root, each
// process has a root folder that holds only the program and its mounts, and runs as an unprivileged
// user.
package deploytest
