package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/hocket-run/hocket/internal/process"
)

// dumpableVar is the environment variable that leaves the process open to debuggers and core dumps,
// and therefore to other programs of the same user.
const dumpableVar = "HOCKET_DUMPABLE"

// Process runs the command line of this process and returns its exit status. The first SIGINT or
// SIGTERM interrupts it: the runs that it drives are stored and can be resumed. A second one ends
// it immediately, which loses nothing that was acknowledged.
//
// A database URL in its arguments is hidden from other users of the machine. Programs that it
// starts cannot read its memory and its environment (on Linux, and not if root runs it).
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
