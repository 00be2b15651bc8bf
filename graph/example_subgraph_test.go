package graph_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/graph"
)

// Check is the state of the inner graph in the examples.
type Check struct {
	Text  string   `json:"text"`
	Wrong []string `json:"wrong"`
}

// spelling returns a separate graph that looks for words in a text.
func spelling() (*graph.Compiled[Check], error) {
	look := func(word string) graph.Node[Check] {
		return graph.Do("look-for-"+word, func(_ context.Context, c *Check) error {
			if strings.Contains(c.Text, word) {
				c.Wrong = append(c.Wrong, word)
			}
			return nil
		})
	}
	return graph.New[Check]("spelling").Start(look("kanon")).Then(look("canonn")).Compile()
}

// One graph runs inside another: its state is initialized from fields of the same name in the outer
// state, and written back by Output.
func ExampleSubgraphConfig() {
	inner, err := spelling()
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := graph.New[Article]("article").
		Start(graph.Do("draft", draft)).
		Then(graph.SubgraphConfig[Article, Check]{ID: "check", Graph: inner,
			Output: func(a *Article, last Check) error {
				a.Notes = last.Wrong
				return nil
			}}).
		Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := play(g, Article{Topic: "kanon canonn"})
	fmt.Printf("%q %v\n", a.Notes, err)
	// Output: ["kanon" "canonn"] <nil>
}

// A graph is resolved by name when the outer graph is linked, as package hocket does with
// registered graphs.
func ExampleCompiled_Link() {
	g, err := graph.New[Article]("article").
		Start(graph.SubgraphConfig[Article, Check]{
			ID: "check", Name: "spelling",
			Input:  func(v graph.View[Article]) Check { return Check{Text: v.State.Topic} },
			Output: func(a *Article, last Check) error { a.Notes = last.Wrong; return nil },
		}).
		Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, known := range []bool{false, true} {
		linked, err := g.Link(func(name string) (graph.Subgraph, bool) {
			inner, err := spelling()
			return inner, known && err == nil && name == inner.Name()
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		a, err := play(linked, Article{Topic: "two canonns"})
		fmt.Printf("%q %v\n", a.Notes, err)
	}
	// Output:
	// [] Workflow not found: spelling
	// ["canonn"] <nil>
}
