package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// envPostgres is the environment variable with the URL of the database to use instead of a
// temporary server.
const envPostgres = "HOCKET_BENCH_POSTGRES"

// noPostgresError says why PostgreSQL is not available.
type noPostgresError struct{ reason string }

func (e noPostgresError) Error() string { return e.reason }

// startPostgres starts a server with the defaults of an installation, in a folder of its own,
// reachable through a socket in it. It returns the URL of a database and a function that stops the
// server. The error is a noPostgresError if the machine has no PostgreSQL.
func startPostgres(ctx context.Context) (address string, stop func() error, err error) {
	if address := os.Getenv(envPostgres); address != "" {
		return address, nothingToClose, nil
	}
	for _, program := range []string{"initdb", "pg_ctl"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", nil, noPostgresError{program + " is not in PATH, and " + envPostgres + " is not set"}
		}
	}
	dir, err := os.MkdirTemp("", "peers-pg") // a short path, because socket paths are limited
	if err != nil {
		return "", nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	run, err := asUser(dir)
	if err != nil {
		return "", nil, errors.Join(err, remove())
	}
	data := filepath.Join(dir, "data")
	if err := run(ctx, "initdb", "-D", data, "-U", "hocket", "--auth=trust", "-E", "UTF8", "--locale=C"); err != nil {
		return "", nil, errors.Join(err, remove())
	}
	options := fmt.Sprintf("-c listen_addresses='' -c unix_socket_directories='%s'", dir)
	if err := run(ctx, "pg_ctl", "-D", data, "-w", "-l", filepath.Join(dir, "log"), "-o", options,
		"start"); err != nil {
		return "", nil, errors.Join(err, remove())
	}
	u := url.URL{Scheme: "postgres", User: url.User("hocket"), Path: "/postgres",
		RawQuery: url.Values{"host": {dir}}.Encode()}
	return u.String(), func() error {
		return errors.Join(run(context.WithoutCancel(ctx), "pg_ctl", "-D", data, "-w", "-m", "fast", "stop"), remove())
	}, nil
}

// runner runs a program to its end.
type runner func(ctx context.Context, name string, args ...string) error

// asUser returns a runner for the server's programs. They do not run as root, so root runs them as
// the user postgres, who becomes the owner of the folder.
func asUser(dir string) (runner, error) {
	if os.Getuid() != 0 {
		return plain, nil
	}
	if _, err := exec.LookPath("runuser"); err != nil {
		return nil, noPostgresError{"PostgreSQL does not run as root, and runuser is not in PATH"}
	}
	if err := exec.Command("id", "postgres").Run(); err != nil {
		return nil, noPostgresError{"PostgreSQL does not run as root, and there is no user postgres"}
	}
	if out, err := exec.Command("chown", "postgres", dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("chown: %w: %s", err, out)
	}
	return func(ctx context.Context, name string, args ...string) error {
		return plain(ctx, "runuser", append([]string{"-u", "postgres", "--", name}, args...)...)
	}, nil
}

// plain implements runner. Output goes to a file, because a started server keeps it open.
func plain(ctx context.Context, name string, args ...string) error {
	out, err := os.CreateTemp("", "peers-out")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Stdout, c.Stderr = os.TempDir(), out, out
	if err := c.Run(); err != nil {
		text, _ := os.ReadFile(out.Name())
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(text))
	}
	return nil
}
