package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"github.com/hocket-run/hocket/internal/process"
	"github.com/hocket-run/hocket/internal/store/pgurl"
)

// dumpableVar is the environment variable that leaves the process open to debuggers and core dumps,
// and therefore to other programs of the same user.
const dumpableVar = "HOCKET_DUMPABLE"

// Process runs the command line of this process and returns its exit status. The first SIGINT or
// SIGTERM interrupts it: the runs that it drives are stored and can be resumed. A second one ends
// it immediately, which loses nothing that was acknowledged.
//
// A database URL in its arguments is hidden from other users of the machine. Programs that it
// starts cannot read its memory or its environment (on Linux, unless root runs it).
func Process(w Wiring) int {
	args := hideSecrets(os.Args)
	if err := process.Protect(os.Getenv(dumpableVar) == "1"); err != nil {
		fmt.Fprintf(os.Stderr, "hocket: protect the process from programs that it starts: %v\n  %s=1 disables the "+
			"protection of memory and environment\n", err, dumpableVar)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return Main(ctx, args[1:], System(), w)
}

// hideSecrets returns a copy of the arguments of this process, and overwrites database URLs, which
// may contain a password, in the memory that the system shows to other users (ps,
// /proc/PID/cmdline). args must be os.Args: its strings are that memory on the systems where
// something is overwritten.
func hideSecrets(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = strings.Clone(arg)
		_, value, isFlag := strings.Cut(arg, "=")
		if !isFlag || !strings.HasPrefix(arg, "-") {
			value = arg
		}
		if !pgurl.Is(value) || runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
			continue
		}
		at := len(arg) - len(value) + strings.Index(value, "://") + len("://")
		//nolint:gosec // there is no other way to the arguments as the system shows them
		shown := unsafe.Slice(unsafe.StringData(arg),
			len(arg))
		for j := at; j < len(arg); j++ {
			shown[j] = '*'
		}
	}
	return out
}

// refusePasswords returns an error if an argument is the URL of a store with a password. hideSecrets
// cannot hide it from the moment at which the process starts, from audit logs of the machine and
// from the history of the shell.
func refusePasswords(args []string) error {
	for _, arg := range args {
		if u, err := pgurl.Parse(arg); pgurl.Is(arg) && err == nil && len(u.Secrets()) > 0 {
			return usageErrorf("the URL %s was given with a password, which other users of this machine can read in "+
				"the list of processes; put the password in a password file (PGPASSFILE) or PGPASSWORD, or the URL in "+
				"HOCKET_DB or in store.path of hocket.yaml", u)
		}
	}
	return nil
}
