package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

// maxCopies is the maximum number of copies: each takes about 2 KB in the store.
const maxCopies = 1_000_000

func run(ctx context.Context, args []string) (err error) {
	if len(args) != 2 {
		return errors.New("give the file of a store, and how many runs to add to it")
	}
	n, err := strconv.Atoi(args[1])
	if err != nil || n < 1 || n > maxCopies {
		return fmt.Errorf("%q runs: give a number from 1 to %d", args[1], maxCopies)
	}
	if _, err := os.Stat(args[0]); err != nil {
		return err
	}
	home, err := store.Open(ctx, args[0], store.Config{Kind: journal.KindServe})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, home.Close()) }()
	return copies(ctx, home.Journal, n)
}
