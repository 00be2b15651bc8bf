package oteltrack_test

import (
	"context"
	"fmt"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/oteltrack"
)

func ExampleNew() {
	ctx := context.Background()
	exporter := tracetest.NewInMemoryExporter() // a program uses one that sends spans to its collector
	provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter))
	defer func() { _ = provider.Shutdown(ctx) }()

	type State struct {
		Text string `json:"text"`
	}
	g, err := graph.New[State]("greeting").Start(graph.Do("greet", func(_ context.Context, s *State) error {
		s.Text = "hello"
		return nil
	})).Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := hocket.Open(ctx, hocket.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = e.Close() }()
	_, err = hocket.Run(ctx, e, g, State{}, hocket.RunOptions{
		WorkflowName: "greeting", Telemetry: oteltrack.New(oteltrack.Config{Provider: provider}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range exporter.GetSpans() {
		fmt.Println(s.Name)
	}
	// Output:
	// node greet
	// workflow greeting
}
