//go:build !linux

package pgtest

func memoryFolder() (string, bool) { return "", false }
