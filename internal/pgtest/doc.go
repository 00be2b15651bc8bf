// Package pgtest runs real PostgreSQL servers for tests.
//
// [URL] gives a test a schema of its own on the server of the test process, which is started when the first test asks for it; [Reused] gives one that another test has used and left, emptied, to a test that changes rows alone. [Start] starts a server for one test, which may stop,
// kill and restart it, copy it by [Server.Replica], and which may listen on 127.0.0.1 with passwords and TLS. [NewProxy] is between a client and a server, and delays, holds and resets their connections, and lets either side vanish; [NewPooler] lends
// sessions of a server for one transaction each.
//
// The programs are those of the machine, PostgreSQL 14 or newer. Where they are missing the test fails and names the command that installs them: it is never skipped.
// As root the server runs as an unprivileged user; otherwise as the user of the tests. Data and socket are in a temporary folder, fsync is on.
// Where PostgreSQL can, the default collation is not that of "C", and the time zone is not UTC, so that what depends on either is seen.
//
// A server ends with its test process, however that ends: a process beside it waits for the end of a pipe that the test process alone holds, stops the server and removes its folder.
//
// The package refuses to use a server that it has not started.
package pgtest
