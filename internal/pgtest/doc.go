// Package pgtest runs real PostgreSQL servers for tests.
//
// [URL] returns the URL of a separate schema for a test on the server of the test process, which is
// started when the first test requests it; [Reused] returns one left by an earlier test, emptied,
// for a test that changes only rows. [Start] starts a server for one test, which may stop, kill and
// restart it, copy it with [Server.Replica], and which may listen on 127.0.0.1 with passwords and
// TLS. [NewProxy] sits between a client and a server: it delays, holds and resets their
// connections, and can make either side vanish; [NewPooler] lends sessions of a server for one
// transaction each.
//
// The programs are those installed on the machine, PostgreSQL 14 or newer. If they are missing the
// test fails and names the command that installs them: it is never skipped. If the tests run as
// root, the server runs as an unprivileged user; otherwise as the user of the tests. Data and
// socket are in memory (/dev/shm) if it has room for several servers, otherwise in a temporary
// folder; fsync is on. If PostgreSQL supports it, the default collation is not "C", and the time
// zone is not UTC, so that dependencies on either are detected.
//
// A server ends with its test process, however that ends: a separate process waits for the end of a
// pipe that only the test process holds, stops the server and removes its folder.
//
// The package does not use a server that it has not started.
package pgtest
