package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Process runs the command line of this process and gives its exit status. The first SIGINT or SIGTERM interrupts it: what it drives is stored and
// can be resumed. A second one ends it at once, which loses nothing that was acknowledged.
func Process(w Wiring) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return Main(ctx, os.Args[1:], System(), w)
}
