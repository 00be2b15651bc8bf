package hocket_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
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

// letterState holds the parts of the letters in these examples.
type letterState struct {
	Draft string `json:"draft,omitempty"`
	Sent  bool   `json:"sent,omitempty"`
}

// letterGraph returns a graph that writes a letter and sends it once a person has agreed.
func letterGraph() (*graph.Compiled[letterState], error) {
	return graph.New[letterState]("letter").
		Start(graph.Do("write", func(_ context.Context, s *letterState) error {
			s.Draft = "Dear reader"
			return nil
		})).
		Wait("Send it?").
		Then(graph.Do("send", func(_ context.Context, s *letterState) error {
			s.Sent = true
			return nil
		})).
		Compile()
}

// A run that waits for a person continues in another process, which has only the snapshot.
func ExampleSnapshotOf() {
	ctx := context.Background()
	g, err := letterGraph()
	if err != nil {
		fmt.Println(err)
		return
	}

	first, err := hocket.Open(ctx, hocket.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	paused, err := hocket.Run(ctx, first, g, letterState{}, hocket.RunOptions{ID: "letter-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(paused.Status, paused.Snapshot.Waiting[0].Prompt)
	snapshot, err := hocket.SnapshotOf(ctx, first, g, "letter-1") // the same as paused.Snapshot
	if err != nil {
		fmt.Println(err)
		return
	}
	stored, err := json.Marshal(snapshot)
	_ = first.Close()
	if err != nil {
		fmt.Println(err)
		return
	}

	// Later, in another process.
	var found hocket.Snapshot[letterState]
	if err := json.Unmarshal(stored, &found); err != nil {
		fmt.Println(err)
		return
	}
	second, err := hocket.Open(ctx, hocket.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = second.Close() }()
	done, err := hocket.Run(ctx, second, g, letterState{}, hocket.RunOptions{
		ResumeFrom: &found, Answer: &hocket.Answer{Value: "yes"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(done.Status, done.State.Sent, strings.Join(done.Snapshot.VisitedNodes, " "))
	// Output:
	// paused Send it?
	// completed true write wait_1 send
}

// OnProgress reports nodes and saved states as the run proceeds.
func ExampleRunOptions() {
	ctx := context.Background()
	g, err := letterGraph()
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
	_, err = hocket.Run(ctx, e, g, letterState{}, hocket.RunOptions{
		Checkpointer: compat.MemoryCheckpoints(),
		OnProgress: hocket.OnProgress(func(p hocket.Progress[letterState]) {
			fmt.Printf("%s %s %q\n", p.Type, p.NodeID, p.Label)
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	// Output:
	// node_started write ""
	// node_completed write ""
	// checkpoint_saved write "step_1"
	// node_started wait_1 ""
	// checkpoint_saved wait_1 "step_2"
}

// StreamModes shows a run in several modes at once.
func ExampleStreamModes() {
	ctx := context.Background()
	g, err := letterGraph()
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
	for ev, err := range compat.StreamModes(ctx, e, g, letterState{},
		[]compat.Mode{compat.ModeUpdates, compat.ModeValues}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		text, err := json.Marshal(ev)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(string(text))
	}
	// Output:
	// {"mode":"updates","nodeId":"write","update":{"draft":"Dear reader"}}
	// {"mode":"values","nodeId":"write","state":{"draft":"Dear reader"}}
	// {"mode":"values","nodeId":"wait_1","state":{"draft":"Dear reader"}}
}

// Review is the state of the example.
type Review struct {
	Text   string `json:"text"`
	Rounds int    `json:"rounds"`
	Strict bool   `json:"strict"`
}

// This example shows the flow of data from the builder to the end of a run: calls collect nodes and
// edges, Compile freezes them, and an executor runs the result, in one go or step by step. Each
// node receives the state and returns its changes; loops and ifs inspect the state in between.
func Example_dataFlow() {
	step := func(id string, fn func(r *Review)) graph.Node[Review] {
		return graph.Do(id, func(_ context.Context, r *Review) error {
			fn(r)
			return nil
		})
	}
	compiled, err := graph.New[Review]("review").
		Start(step("draft", func(r *Review) { r.Text = "words" })).
		Then(step("spell", func(r *Review) { r.Text += "." })).
		Loop(graph.LoopConfig[Review]{Until: func(v graph.View[Review]) bool { return v.State.Rounds == 2 }},
			step("revise", func(r *Review) {
				r.Rounds++
				r.Text = "better " + r.Text
			})).
		If(func(v graph.View[Review]) bool { return v.State.Strict }).
		Then(step("approve", func(r *Review) { r.Text += " (approved)" })).
		EndIf().
		End().
		Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	engine, err := hocket.Open(ctx, hocket.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	executor := compat.NewExecutor(engine, compiled)

	result, err := executor.Run(ctx, Review{Strict: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Status, result.State.Text)

	for s, err := range executor.Stream(ctx, Review{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s.Status, s.NodeID, s.State.Text)
	}
	// Output:
	// completed better better words. (approved)
	// running draft words
	// running spell words.
	// running loop_start_1 words.
	// running revise better words.
	// running loop_check_2 better words.
	// running revise better better words.
	// running loop_check_2 better better words.
	// running decision_3 better better words.
	// completed merge_4 better better words.
}

// A run exceeds its budget, and continues where it stopped with a larger one.
func ExampleEngine_Reopen() {
	ctx := context.Background()
	model := hocket.ModelFunc(func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
		return hocket.ModelReply{Text: "checked " + r.Messages[0].Text}, nil
	})
	eng, err := hocket.Open(ctx, hocket.Config{}, hocket.WithModel("own", model),
		hocket.WithAgent(hocket.Agent{Name: "checker", Model: "own/m"}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	type State struct{}
	g, err := graph.New[State]("check").
		Start(graph.SubagentConfig[State]{ID: "names", Agent: "checker", Task: "names"}).
		Then(graph.SubagentConfig[State]{ID: "dates", Agent: "checker", Task: "dates"}).
		Compile(graph.Config{Limits: graph.Limits{Budget: graph.Budget{MaxCalls: 100}}}) // for each run of the graph
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := hocket.Run(ctx, eng, g, State{},
		hocket.RunOptions{ID: "run-1", Limits: graph.Limits{Budget: graph.Budget{MaxCalls: 1}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var short *hocket.BudgetError
	fmt.Println(res.Status, errors.As(res.Err, &short), short.Limit, short.Max)

	if err := eng.Reopen(ctx, "run-1", hocket.Limits{MaxCalls: 5}); err != nil {
		fmt.Println(err)
		return
	}
	info, err := eng.Wait(ctx, "run-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(info.Status, info.Usage.ModelCalls, "calls")
	// Output:
	// failed true calls 1
	// completed 2 calls
}
