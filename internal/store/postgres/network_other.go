//go:build !linux

package postgres

import "syscall"

// boundAcks does nothing here; replyTimeout limits how long the server may be silent.
func boundAcks(string, string, syscall.RawConn) error { return nil }
