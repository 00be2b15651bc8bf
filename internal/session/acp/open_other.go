//go:build !unix

package acp

const noWait = 0
