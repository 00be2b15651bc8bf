// Tool runs a document, dispatch.yaml, whose agent calls a tool that is a Go function. A reply
// script replaces the model; with -live a real model answers, which requires OPENAI_API_KEY.
//
//	go run ./examples/go/tool "Where is order 118?"
//	go run ./examples/go/tool -live "Where is order 7?"
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"log"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/provider"
)

//go:embed dispatch.yaml
var document []byte

//go:embed replies.yaml
var replies []byte

// Query holds the tool's arguments; the model sees it as a JSON Schema.
type Query struct {
	Number int `json:"number" jsonschema:"the number of the order"`
}

// Order is the tool's result; the model receives it as JSON.
type Order struct {
	Number int    `json:"number"`
	Place  string `json:"place"`
	Due    string `json:"due,omitempty"`
}

func lookUp(_ context.Context, q Query) (Order, error) {
	orders := map[int]Order{118: {118, "depot", "Monday"}, 7: {7, "delivered", ""}}
	o, ok := orders[q.Number]
	if !ok {
		return Order{}, fmt.Errorf("there is no order %d", q.Number) // reported to the model
	}
	return o, nil
}

func main() {
	live := flag.Bool("live", false, "ask the real model")
	flag.Parse()
	start := hocket.StartOptions{Input: flag.Arg(0), Replies: replies}
	if *live {
		start.Replies = nil
	}
	if err := run(context.Background(), start); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, start hocket.StartOptions) error {
	eng, err := hocket.Open(ctx, hocket.Config{}, documents.All(), provider.All(),
		hocket.WithTool("order", "Tells where an order is and when it is due.", lookUp,
			hocket.ToolOptions{Idempotent: true}))
	if err != nil {
		return err
	}
	defer func() { _ = eng.Close() }()
	doc, err := eng.Parse("dispatch.yaml", document)
	if err != nil {
		return err
	}
	r, err := eng.Run(ctx, doc, start)
	if err != nil {
		return err
	}
	fmt.Printf("%s\n(%s, %d model calls, %d tool calls)\n", r.Text(), r.Status, r.Usage.ModelCalls, r.Usage.ToolCalls)
	return r.Err
}
