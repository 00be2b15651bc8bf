package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

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
// Programs that it starts cannot read its memory or its environment (on Linux, unless root runs it).
func Process(w Wiring) int {
	if err := process.Protect(os.Getenv(dumpableVar) == "1"); err != nil {
		fmt.Fprintf(os.Stderr, "hocket: protect the process from programs that it starts: %v\n  %s=1 disables the "+
			"protection of memory and environment\n", err, dumpableVar)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return Main(ctx, os.Args[1:], System(), w)
}

// refusePasswords returns an error if an argument is the URL of a store with a password: other users
// of the machine can read it in the list of processes, and the history of the shell keeps it.
func refusePasswords(args []string) error {
	for _, arg := range args {
		if u, err := pgurl.Parse(arg); pgurl.Is(arg) && err == nil && len(u.Secrets()) > 0 {
			return usageErrorf("the URL %s contains a password, which other users of this machine can read in "+
				"the list of processes; put the password in a password file (PGPASSFILE) or PGPASSWORD, or the URL in "+
				"HOCKET_DB or in store.path of hocket.yaml", u)
		}
	}
	return nil
}
