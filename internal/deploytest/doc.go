// Package deploytest tests the files by which Hocket is deployed: Dockerfile, compose.yaml and the manifests in deploy/kubernetes.
//
// It is a module of its own, so that Hocket depends on neither Kubernetes nor Compose. Manifests are decoded strictly with the types of Kubernetes, compose.yaml with the loader of Compose.
// Where an image builder is there the image is built. The commands of the services run as processes on this machine in any case: with the environment of compose.yaml, and as root with a
// root folder that holds nothing but the program and what is mounted, as a user without rights.
package deploytest
