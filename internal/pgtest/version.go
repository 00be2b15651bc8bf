package pgtest

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// WithVersion returns the URL of a proxy that forwards everything between its clients and the
// server of the URL at, through a Unix socket, but replaces the version that the server reports at
// startup, as if the server were older. The proxy ends with the test.
func WithVersion(t testing.TB, at, version string) string {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	name := ".s.PGSQL." + q.Get("port")
	folder, dir := q.Get("host"), t.TempDir()
	ln, err := net.Listen("unix", filepath.Join(dir, name))
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
			server, err := net.Dial("unix", filepath.Join(folder, name))
			if err != nil {
				_ = client.Close()
				return
			}
			go func() {
				_, _ = io.Copy(server, client)
				_ = server.Close()
			}()
			go func() {
				passVersion(client, server, version)
				_, _ = io.Copy(client, server)
				_ = client.Close()
			}()
		}
	}()
	q.Set("host", dir)
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	return u.String()
}

// passVersion forwards the server's messages until it is ready for the first query, with the
// version replaced.
func passVersion(client io.Writer, server io.Reader, is string) {
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
			body = []byte(version + is + "\x00")
			binary.BigEndian.PutUint32(head[1:], uint32(len(body)+4))
		}
		if _, err := client.Write(slices.Concat(head, body)); err != nil || head[0] == 'Z' {
			return
		}
	}
}
