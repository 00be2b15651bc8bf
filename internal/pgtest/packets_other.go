//go:build !linux

package pgtest

import (
	"errors"
	"net"
)

func ignorePackets(net.Conn) error { return errors.New("packets are ignored on Linux only") }
