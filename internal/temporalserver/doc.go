// Package temporalserver runs real Temporal servers for tests.
//
// [Namespace] provides a test with its own namespace on the server of the test process, which is
// started when the first test asks for it and keeps everything in memory. [Start] starts a server
// for a single test, which may stop, kill and restart it, and whose database may be PostgreSQL.
//
// The program is that of module internal/temporaltest. `make test-all` builds it into .cache/bin,
// which takes minutes the first time, and sets HOCKET_TEMPORAL=1: the program must then exist.
// Without that variable a test that needs a server is skipped.
//
// A server ends with its test process, however that ends: its standard input is a pipe that only
// the test process holds.
package temporalserver
