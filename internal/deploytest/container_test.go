//go:build unix

package deploytest

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
)

// container is a service of compose.yaml as a process. If the tests run as root, its root folder
// holds only the program and its mounts and is not writable by the user that it runs as, as in a
// container with a read-only root; otherwise it runs in a folder of this machine.
type container struct {
	service types.ServiceConfig
	root    string
	args    []string
	env     []string
	addr    string // listen address; "" means none

	cmd  *exec.Cmd
	done chan error

	mu  sync.Mutex
	log bytes.Buffer
}

// inside reports whether a process can have its own root folder here.
func inside() bool { return os.Geteuid() == 0 }

// newContainer prepares the root folder of a service. replace maps names in the container network
// to addresses on this machine.
func newContainer(t *testing.T, p *types.Project, name string, replace func(string) string) *container {
	t.Helper()
	s, err := p.GetService(name)
	if err != nil {
		t.Fatal(err)
	}
	c := &container{service: s, root: filepath.Join(folder, t.Name(), name)}
	uid, gid := c.user(t)
	place := func(path string, data []byte, mode os.FileMode, owner, group int) {
		at := filepath.Join(c.root, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, data, mode); err != nil {
			t.Fatal(err)
		}
		if inside() {
			if err := os.Chown(at, owner, group); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, x := range s.Configs {
		data, err := os.ReadFile(p.Configs[x.Source].File)
		if err != nil {
			t.Fatal(err)
		}
		place(x.Target, data, 0o444, 0, 0)
	}
	for _, x := range s.Secrets { // a local file owned by the user who runs the container
		place(filepath.Join("/run/secrets", x.Source), []byte(strings.Repeat("k", 32)), 0o600, uid, gid)
	}
	for _, dir := range s.Tmpfs {
		at := filepath.Join(c.root, dir)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at, 0o777|os.ModeSticky); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(c.root, "usr", "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(program(t, *s.Build.Args["MODULE"]), filepath.Join(c.root, "usr", "bin", "hocket")); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(c.root, "proc", "self", "exe") // the Temporal SDK reads this from /proc, which containers have
	if err := os.MkdirAll(filepath.Dir(exe), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/usr/bin/hocket", exe); err != nil {
		t.Fatal(err)
	}
	c.args = append(c.args, s.Command...)
	for i, arg := range c.args {
		if port, ok := strings.CutPrefix(arg, "0.0.0.0:"); ok && port != "" {
			c.addr = freePort(t)
			c.args[i] = c.addr
			continue
		}
		c.args[i] = replace(arg)
	}
	for key, v := range s.Environment {
		if v == nil {
			continue
		}
		value := replace(*v)
		if strings.HasPrefix(value, "/") && !inside() {
			value = c.root + value
		}
		c.env = append(c.env, key+"="+value)
	}
	return c
}

// user returns the uid and gid of the service.
func (c *container) user(t *testing.T) (uid, gid int) {
	t.Helper()
	u, g, _ := strings.Cut(c.service.User, ":")
	uid, err := strconv.Atoi(u)
	if err != nil || uid == 0 {
		t.Fatalf("%s runs as the user %q", c.service.Name, c.service.User)
	}
	if gid, err = strconv.Atoi(g); err != nil {
		t.Fatal(err)
	}
	return uid, gid
}

func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().String()
}

// Write implements io.Writer for the output of the process.
func (c *container) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.Write(p)
}

func (c *container) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.String()
}

func (c *container) start(t *testing.T) {
	t.Helper()
	c.cmd = exec.Command(filepath.Join(c.root, "usr", "bin", "hocket"), c.args...)
	c.cmd.Env, c.cmd.Stdout, c.cmd.Stderr = c.env, c, c
	if inside() {
		uid, gid := c.user(t)
		c.cmd.Path, c.cmd.Dir = "/usr/bin/hocket", "/"
		c.cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: c.root, Credential: &syscall.Credential{Uid: uint32(uid),
			Gid: uint32(gid)}} //nolint:gosec // a small number of compose.yaml
	} else {
		c.cmd.Dir = c.root
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatalf("%s: %v", c.service.Name, err)
	}
	cmd, done := c.cmd, make(chan error, 1)
	c.done = done
	go func() { done <- cmd.Wait() }()
}

// wait waits until the process exits and returns its error.
func (c *container) wait(t *testing.T, patience time.Duration) error {
	t.Helper()
	select {
	case err := <-c.done:
		c.done <- err
		return err
	case <-time.After(patience):
		t.Fatalf("%s has not ended after %s: %s", c.service.Name, patience, c.said())
		return nil
	}
}

// kill kills the process with SIGKILL.
func (c *container) kill() {
	if c.cmd != nil {
		_ = c.cmd.Process.Kill()
		err := <-c.done
		c.done <- err
	}
}
