package pghome_test

import (
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"slices"
	"testing"
)

// startup is what a program between client and server says in the place of the server.
type startup struct {
	version string
}

// between listens on a Unix socket in a folder, which it gives, and passes everything to the server with a socket in another folder. It changes what the server says before it is ready for the first
// query: its version, as an older server says it.
func between(t *testing.T, folder string, s startup) string {
	t.Helper()
	dir := t.TempDir()
	ln, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", filepath.Join(folder, ".s.PGSQL.5432"))
			if err != nil {
				_ = client.Close()
				return
			}
			go func() {
				_, _ = io.Copy(server, client)
				_ = server.Close()
			}()
			go func() {
				s.pass(client, server)
				_, _ = io.Copy(client, server)
				_ = client.Close()
			}()
		}
	}()
	return dir
}

// pass gives on the messages of the server until it is ready.
func (s startup) pass(client io.Writer, server io.Reader) {
	for {
		head := make([]byte, 5)
		if _, err := io.ReadFull(server, head); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(server, body); err != nil {
			return
		}
		const version = "server_version\x00"
		if head[0] == 'S' && len(body) > len(version) && string(body[:len(version)]) == version {
			body = []byte(version + s.version + "\x00")
			binary.BigEndian.PutUint32(head[1:], uint32(len(body)+4))
		}
		if _, err := client.Write(slices.Concat(head, body)); err != nil || head[0] == 'Z' {
			return
		}
	}
}
