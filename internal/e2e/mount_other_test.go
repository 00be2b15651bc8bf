//go:build !linux

package e2e_test

import "errors"

func mountTmpfs(string, string) error { return errors.New("not on this system") }

func unmount(string) error { return nil }
