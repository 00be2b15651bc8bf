// Package temporalserver runs real Temporal servers for tests.
//
// [Namespace] gives a test a namespace of its own on the server of the test process, which is started when the first test asks for it and keeps everything in memory. [Start] starts a server for
// one test, which may stop, kill and start it again, and whose database may be PostgreSQL.
//
// The program is that of module internal/temporaltest. `make test-all` builds it into .cache/bin, which takes minutes the first time, and sets HOCKET_TEMPORAL=1: then it must be there.
// Without that variable a test that asks for a server is skipped.
//
// A server ends with its test process, however that ends: its standard input is a pipe that the test process alone holds.
package temporalserver
