//go:build !linux

package postgres

import "syscall"

// boundAcks does nothing: replyTime bounds how long a server is waited for.
func boundAcks(string, string, syscall.RawConn) error { return nil }
