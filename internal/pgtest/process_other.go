//go:build !unix

package pgtest

import (
	"errors"
	"os"
	"os/exec"
)

var errSystem = errors.New("servers for tests are started on Unix alone")

func chownToServer(string) error { return errSystem }
func asServer(*exec.Cmd) error   { return errSystem }
func asWatcher(*exec.Cmd)        {}
func ended(int) bool             { return true }
func wait(int)                   {}
func stopSignal(Mode) os.Signal  { return os.Kill }
func send(int, os.Signal) error  { return errSystem }
