// Hello is the first graph of docs/graphs.md: two functions in sequence.
//
//	go run ./examples/go/hello
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

type State struct{ Topic, Text string }

func draft(_ context.Context, s *State) error {
	s.Text = "On " + s.Topic
	return nil
}

func publish(_ context.Context, s *State) error {
	s.Text = strings.ToUpper(s.Text)
	return nil
}

func main() {
	ctx := context.Background()
	g, err := graph.New[State]("hello").Do("draft", draft).Do("publish", publish).Compile()
	if err != nil {
		log.Fatal(err)
	}
	eng, err := hocket.Open(ctx, hocket.Config{}) // in memory; DB: "hello.db" keeps runs in a file
	if err != nil {
		log.Fatal(err)
	}
	res, err := hocket.Run(ctx, eng, g, State{Topic: "tides"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.State.Text)
	_ = eng.Close()
}
