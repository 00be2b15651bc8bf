package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
)

// play runs a compiled graph in memory and returns its final state.
func play[S any](g *graph.Compiled[S], first S) (last S, err error) {
	ctx := context.Background()
	eng, err := hocket.Open(ctx, hocket.Config{})
	if err != nil {
		return last, err
	}
	defer func() { _ = eng.Close() }()
	res, err := hocket.Run(ctx, eng, g, first)
	if err != nil {
		return last, err
	}
	return res.State, res.Err
}

// Article is the state of the graphs in the examples.
type Article struct {
	Topic    string   `json:"topic"`
	Text     string   `json:"text"`
	Rounds   int      `json:"rounds"`
	Approved bool     `json:"approved"`
	Notes    []string `json:"notes"`
	Words    int      `json:"words"`
}

func draft(_ context.Context, a *Article) error {
	a.Text = "On " + a.Topic
	return nil
}

func publish(_ context.Context, a *Article) error {
	a.Text = strings.ToUpper(a.Text)
	return nil
}

// Nodes run in sequence: each changes its copy of the state in place.
func ExampleNew() {
	g, err := graph.New[Article]("chain").
		Start(graph.Do("draft", draft)).
		Then(graph.Do("publish", publish)).
		Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := play(g, Article{Topic: "canons"})
	fmt.Println(a.Text, err)
	// Output: ON CANONS <nil>
}

// A conditional with an else-if.
func ExampleIfConfig() {
	set := func(id, text string) graph.Node[Article] {
		return graph.Do(id, func(_ context.Context, a *Article) error {
			a.Text = text
			return nil
		})
	}
	g, err := graph.New[Article]("branch").
		Start(graph.Do("count", func(_ context.Context, a *Article) error {
			a.Words = len(strings.Fields(a.Topic))
			return nil
		})).
		Then(graph.IfConfig[Article]{
			Condition: func(v graph.View[Article]) bool { return v.State.Words > 3 },
			Then:      []graph.Node[Article]{set("long", "a long read")},
			ElseIf: []graph.ElseIf[Article]{{
				Condition: func(v graph.View[Article]) bool { return v.State.Words > 1 },
				Then:      []graph.Node[Article]{set("short", "a short read")},
			}},
			Else: []graph.Node[Article]{set("word", "a word")},
		}).
		Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, topic := range []string{"the art of the hocket", "two voices", "canon"} {
		a, err := play(g, Article{Topic: topic})
		fmt.Println(a.Text, err)
	}
	// Output:
	// a long read <nil>
	// a short read <nil>
	// a word <nil>
}

// A review cycle: the body runs until the text is approved, at most five times.
func ExampleBuilder_Loop() {
	review := func(_ context.Context, a *Article) error {
		a.Rounds++
		a.Approved = strings.HasSuffix(a.Text, "!!")
		return nil
	}
	fix := func(_ context.Context, a *Article) error {
		if !a.Approved {
			a.Text += "!"
		}
		return nil
	}
	g, err := graph.New[Article]("review").
		Start(graph.Do("draft", draft)).
		Loop(graph.LoopConfig[Article]{Until: func(v graph.View[Article]) bool { return v.State.Approved },
			MaxIterations: 5},
			graph.Do("review", review), graph.Do("fix", fix)).
		Then(graph.Do("publish", publish)).
		Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := play(g, Article{Topic: "canons"})
	fmt.Println(a.Text, a.Rounds, err)
	// Output: ON CANONS!! 3 <nil>
}

// Two branches race: the first that settles wins, the other is cancelled.
func ExampleBuilder_Parallel() {
	answer := func(id string, execute func(ctx context.Context, topic string) (string, error)) graph.Node[Article] {
		return graph.ToolConfig[Article, string, string]{ID: id, ArgsFunc: func(v graph.View[Article]) string {
			return v.State.Topic
		}, Execute: execute}
	}
	g, err := graph.New[Article]("race").
		Parallel(graph.ParallelConfig[Article]{Branches: []string{"quick", "slow"}, Strategy: graph.StrategyRace,
			Merge: func(a *Article, results []graph.BranchResult) error {
				return json.Unmarshal(results[0].Output, &a.Text)
			}}).
		Then(graph.Do("publish", publish)).
		Node(answer("quick", func(_ context.Context, topic string) (string, error) {
			return "a note about " + topic, nil
		})).
		Node(answer("slow", func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done() // a book takes longer
			return "", ctx.Err()
		})).
		Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := play(g, Article{Topic: "canons"})
	fmt.Println(a.Text, err)
	// Output: A NOTE ABOUT CANONS <nil>
}

// Branches that change the same fields specify how the changes are merged.
func ExampleReducer() {
	look := func(id string, words int) graph.Node[Article] {
		return graph.Do(id, func(_ context.Context, a *Article) error {
			a.Notes = append(a.Notes, "found in "+id)
			a.Words += words
			return nil
		})
	}
	b := graph.New[Article]("reducers").
		Parallel(graph.ParallelConfig[Article]{Branches: []string{"library", "archive"}}).
		Node(look("library", 300)).
		Node(look("archive", 20))
	for _, reducers := range []map[string]graph.Reducer{{"notes": graph.Append(), "words": graph.Sum()},
		{"words": graph.Sum()}} {
		g, err := b.Compile(graph.Config{Reducers: reducers})
		if err != nil {
			fmt.Println(err)
			return
		}
		a, err := play(g, Article{Words: 5})
		fmt.Printf("%q %d %v\n", a.Notes, a.Words, err)
	}
	// Output:
	// ["found in library" "found in archive"] 325 <nil>
	// [] 5 nodes "library" and "archive" both changed field "notes" at the same time; declare how it is merged
}

// Compile reports all errors together.
func ExampleBuilder_Compile() {
	_, err := graph.New[Article]("mistakes").
		Start(graph.Do("draft", draft)).
		Then(graph.Do("draft", draft)).
		If(func(v graph.View[Article]) bool { return v.State.Approved }).
		Compile()
	if list, ok := errors.AsType[diag.List](err); ok {
		for _, p := range list {
			fmt.Println(p.Span.File, p.Message)
		}
	}
	// Output:
	// example_test.go Node with ID "draft" already exists
	// example_test.go Missing EndIf
}

// A run has a budget, of which one node may use a part.
func ExampleLimits() {
	type State struct{}
	g, err := graph.New[State]("report").
		Start(graph.Do("write", func(context.Context, *State) error {
			return nil
		}, graph.NodeOptions{Budget: graph.Budget{MaxTokens: 50_000}})).
		Compile(graph.Config{Limits: graph.Limits{Budget: graph.Budget{MaxTokens: 200_000, MaxCalls: 100},
			OnBudget: graph.OnBudgetPause}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g.Workflow().Limits.MaxTokens, g.Workflow().Limits.OnBudget, g.Workflow().Nodes[0].Budget.MaxTokens)

	_, err = graph.New[State]("report").Start(compat.WaitNode[State]("ask", "Go on?")).Compile(
		graph.Config{Limits: graph.Limits{Budget: graph.Budget{MaxTokens: -1}}})
	fmt.Println(err != nil)
	// Output:
	// 200000 pause 50000
	// true
}
