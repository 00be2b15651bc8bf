package pgtest

import (
	"errors"
	"net"
	"syscall"
)

// ignorePackets makes the system drop incoming packets of a connection before acknowledging them.
func ignorePackets(c net.Conn) error {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return errors.New("only connections by TCP can be ignored")
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	drop := []syscall.SockFilter{{Code: syscall.BPF_RET | syscall.BPF_K}} // keeps 0 bytes of each packet
	var failed error
	//nolint:staticcheck // golang.org/x/net has it too, with a dependency more
	err = raw.Control(func(fd uintptr) {
		failed = syscall.AttachLsf(int(fd), drop)
	})
	return errors.Join(err, failed)
}
