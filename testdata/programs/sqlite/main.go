// Sqlite builds a graph of Go functions and runs it on a SQLite store. TestGraphPrograms checks
// what it links.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

type state struct{ N int }

func main() {
	ctx := context.Background()
	g, err := graph.New[state]("count").Do("add", func(_ context.Context, s *state) error { s.N++; return nil }).
		Compile()
	if err != nil {
		log.Fatal(err)
	}
	eng, err := hocket.Open(ctx, hocket.Config{DB: os.Args[1]})
	if err != nil {
		log.Fatal(err)
	}
	res, err := hocket.Run(ctx, eng, g, state{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.State.N)
}
