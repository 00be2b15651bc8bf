package hocket_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/graph"
)

// Article is the state of the graphs in these examples.
type Article struct {
	Topic    string   `json:"topic"`
	Text     string   `json:"text"`
	Approved bool     `json:"approved"`
	Notes    []string `json:"notes,omitempty"`
}

func ExampleRun_chain() {
	ctx := context.Background()
	eng, err := hocket.Open(ctx, hocket.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	g, err := graph.New[Article]("article").
		Start(graph.Do("draft", func(_ context.Context, s *Article) error {
			s.Text = "About " + s.Topic
			return nil
		})).
		Then(graph.Do("polish", func(_ context.Context, s *Article) error {
			s.Text += "."
			return nil
		})).
		Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := hocket.Run(ctx, eng, g, Article{Topic: "tides"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Status, res.Snapshot.VisitedNodes)
	fmt.Println(res.State.Text)
	// Output:
	// completed [draft polish]
	// About tides.
}

// The first branch that settles wins; the others are cancelled.
func ExampleRun_race() {
	ctx := context.Background()
	eng, err := hocket.Open(ctx, hocket.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	g, err := graph.New[Article]("race").
		Parallel(graph.ParallelConfig[Article]{ID: "ask", Branches: []string{"quick", "slow"},
			Strategy: graph.StrategyRace}).
		Node(graph.Do("quick", func(_ context.Context, s *Article) error {
			s.Text = "quick"
			return nil
		})).
		Node(graph.Do("slow", func(ctx context.Context, s *Article) error {
			<-ctx.Done() // the other branch won
			return ctx.Err()
		})).
		Then(graph.Do("publish", func(_ context.Context, s *Article) error {
			s.Text += " it is"
			return nil
		})).
		Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := hocket.Run(ctx, eng, g, Article{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Status, res.State.Text)
	// Output: completed quick it is
}

// A draft is reviewed and revised until it is approved.
func ExampleRun_reviewCycle() {
	ctx := context.Background()
	eng, err := hocket.Open(ctx, hocket.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	g, err := graph.New[Article]("review").
		Start(graph.Do("draft", func(_ context.Context, s *Article) error {
			s.Text = "v1"
			return nil
		})).
		Loop(graph.LoopConfig[Article]{Until: func(v graph.View[Article]) bool { return v.State.Approved },
			MaxIterations: 5},
			graph.Do("review", func(_ context.Context, s *Article) error {
				s.Approved = s.Text == "v3"
				return nil
			}),
			graph.Do("mend", func(_ context.Context, s *Article) error {
				if !s.Approved {
					s.Text = fmt.Sprintf("v%d", len(s.Notes)+2)
					s.Notes = append(s.Notes, "mended")
				}
				return nil
			})).
		Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := hocket.Run(ctx, eng, g, Article{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Status, res.State.Text, len(res.State.Notes))
	fmt.Println("rounds:", string(res.Snapshot.Outputs["loop_start_1_iteration"]))
	// Output:
	// completed v3 2
	// rounds: 3
}

// A run waits for a person; another engine on the same file, as in another process, continues it.
func ExampleResume() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "hocket")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	db := filepath.Join(dir, "app.db")
	g, err := graph.New[Article]("ask").
		Start(graph.Do("draft", func(_ context.Context, s *Article) error {
			s.Text = "About " + s.Topic
			return nil
		})).
		Then(graph.WaitConfig[Article]{ID: "check", Prompt: "Publish it?",
			Input: func(s *Article, answer string) error {
				s.Approved = answer == "yes"
				return nil
			}}).
		Compile()
	if err != nil {
		fmt.Println(err)
		return
	}

	first, err := hocket.Open(ctx, hocket.Config{DB: db})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := hocket.Run(ctx, first, g, Article{Topic: "tides"}, hocket.RunOptions{ID: "run-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Status, res.Snapshot.Waiting[0].Prompt)
	first.Close()

	second, err := hocket.Open(ctx, hocket.Config{DB: db})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer second.Close()
	res, err = hocket.Resume(ctx, second, g, "run-1", hocket.Answer{Value: "yes"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Status, res.State.Text, res.State.Approved)
	// Output:
	// paused Publish it?
	// completed About tides true
}

// If a node fails, a recovery node runs instead.
func ExampleRun_recovery() {
	ctx := context.Background()
	eng, err := hocket.Open(ctx, hocket.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	publish := graph.Do("publish", func(context.Context, *Article) error { return errors.New("the press is broken") },
		graph.NodeOptions{OnError: graph.OnError(func(error, *graph.Context[Article]) graph.ErrorAction[Article] {
			return graph.ErrorAction[Article]{Action: graph.ActionGoto, Node: "handwrite"}
		})})
	handwrite := graph.Do("handwrite", func(_ context.Context, s *Article) error {
		s.Text = "by hand"
		return nil
	}, graph.NodeOptions{Recovery: true})
	g, err := graph.New[Article]("recover").Start(publish).Node(handwrite).Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := hocket.Run(ctx, eng, g, Article{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Status, res.State.Text)
	for _, e := range res.Snapshot.Errors {
		fmt.Println(e.NodeID, e.Message)
	}
	// Output:
	// completed by hand
	// publish the press is broken
}

// Each step is yielded when its node has settled.
func ExampleStream() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	eng, err := hocket.Open(ctx, hocket.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	add := func(note string) func(context.Context, *Article) error {
		return func(_ context.Context, s *Article) error {
			s.Notes = append(s.Notes, note)
			return nil
		}
	}
	g, err := graph.New[Article]("notes").Start(graph.Do("one", add("first"))).Then(graph.Do("two", add("second"))).
		Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	for step, err := range hocket.Stream(ctx, eng, g, Article{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(step.NodeID, step.Status, step.State.Notes)
	}
	// Output:
	// one running [first]
	// two completed [first second]
}

// A document runs with a tool that is a Go function; a reply script replaces the model.
func ExampleEngine_Run() {
	type query struct {
		Word string `json:"word" jsonschema:"the word to look up"`
	}
	ctx := context.Background()
	eng, err := hocket.Open(ctx, hocket.Config{}, documents.All(),
		hocket.WithTool("lookup", "Looks a word up in the dictionary.",
			func(_ context.Context, q query) (string, error) {
				return q.Word + ": the sea, rising and falling", nil
			}, hocket.ToolOptions{Idempotent: true}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	w, err := eng.Parse("dictionary.yaml", []byte(`
agents:
  writer:
    model: openai/gpt-6.1-terra
    instruction: You explain words.
    tools: [lookup]
workflow:
  steps:
    - {id: explain, type: agent, name: writer}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	run, err := eng.Run(ctx, w, hocket.StartOptions{Input: "tide", Replies: []byte(`
replies:
  - toolCalls: [{name: lookup, arguments: {word: tide}}]
  - {contains: "rising and falling", text: "A tide is the sea, rising and falling."}
`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run.Status, run.Usage.ToolCalls)
	fmt.Println(run.Text())
	// Output:
	// completed 1
	// A tide is the sea, rising and falling.
}
