// Package docs_test runs the Go code that the guides show. Each block of a guide appears verbatim
// in one of these files, whose output the compiler and the tests verify: see TestBlocks.
package docs_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// Article is the state of the graphs in the guides.
type Article struct {
	Topic    string   `json:"topic"`
	Text     string   `json:"text"`
	Words    int      `json:"words"`
	Approved bool     `json:"approved"`
	Notes    []string `json:"notes,omitempty"`
}

// engine opens an engine in memory.
func engine(options ...hocket.Option) *hocket.Engine {
	return must(hocket.Open(context.Background(), hocket.Config{}, options...))
}

// must returns v, and panics if err is not nil.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// runAndPrint runs a graph from an initial state and prints the result.
func runAndPrint(g *graph.Compiled[Article], err error, first Article,
	options ...hocket.Option) *hocket.Result[Article] {
	eng := engine(options...)
	defer eng.Close()
	res := must(hocket.Run(context.Background(), eng, must(g, err), first))
	fmt.Println(res.Status, strings.Join(res.Snapshot.VisitedNodes, " "))
	if res.Err != nil {
		fmt.Println(res.Err)
	}
	return res
}

func draft(_ context.Context, a *Article) error {
	a.Text = "On " + a.Topic
	a.Words = len(strings.Fields(a.Text))
	return nil
}

func publish(_ context.Context, a *Article) error {
	a.Text = strings.ToUpper(a.Text)
	return nil
}

func note(id string) graph.Node[Article] {
	return graph.Do(id, func(_ context.Context, a *Article) error {
		a.Notes = append(a.Notes, id)
		return nil
	})
}

func long(v graph.View[Article]) bool     { return v.State.Words > 3 }
func approved(v graph.View[Article]) bool { return v.State.Approved }

func Example_node() {
	count := graph.NewNode("count", graph.TypeTool,
		func(_ context.Context, c *graph.Context[Article]) (graph.Result[Article], error) {
			c.State.Words = len(strings.Fields(c.State.Text))
			c.Emit("counted", map[string]any{"words": c.State.Words})
			return graph.Result[Article]{Update: &c.State, Output: c.State.Words}, nil
		})
	g, err := graph.New[Article]("count").Start(graph.Do("draft", draft)).Then(count).Compile()
	res := runAndPrint(g, err, Article{Topic: "tides"})
	fmt.Println(string(res.Snapshot.Outputs["count"]))
	// Output:
	// completed draft count
	// 2
}

func Example_reducers() {
	g, err := graph.New[Article]("sources").
		Then(graph.Parallel("look", note("library"), note("archive"))).
		Compile(graph.Config{Reducers: map[string]graph.Reducer{"notes": graph.Append()}})
	eng := engine()
	defer eng.Close()
	fmt.Println(must(hocket.Run(context.Background(), eng, must(g, err), Article{})).State.Notes)

	g, err = graph.New[Article]("sources").
		Parallel(graph.ParallelConfig[Article]{ID: "look", Branches: []string{"library", "archive"}}).
		Node(note("library")).
		Node(note("archive")).
		Compile()
	fmt.Println(must(hocket.Run(context.Background(), eng, must(g, err), Article{})).Err)
	// Output:
	// [library archive]
	// nodes "library" and "archive" both changed field "notes" at the same time; declare how it is merged
}

func Example_branches() {
	g, err := graph.New[Article]("branches").
		Do("draft", draft).
		If(long).
		Then(note("shorten")).
		Else().
		Then(note("praise")).
		EndIf().
		Then(graph.If(approved, note("print")).OrIf(long, note("file")).Otherwise(note("drop"))).
		Compile()
	fmt.Println(runAndPrint(g, err, Article{Topic: "tides"}).State.Notes)
	// Output:
	// completed draft decision_1 praise merge_2 decision_3 pass_4 decision_5 drop merge_6 merge_7
	// [praise drop]
}

func Example_loop() {
	check := graph.Do("check", func(_ context.Context, a *Article) error {
		a.Approved = strings.HasSuffix(a.Text, "!!")
		return nil
	})
	mend := graph.Do("mend", func(_ context.Context, a *Article) error {
		if !a.Approved {
			a.Text += "!"
		}
		return nil
	})
	g, err := graph.New[Article]("cycle").
		Do("draft", draft).
		Then(graph.Loop(approved, check, mend).AtMost(5)).
		Do("publish", publish).
		Compile()
	res := runAndPrint(g, err, Article{Topic: "tides"})
	fmt.Println(res.State.Text, string(res.Snapshot.Outputs["loop_start_1_iteration"]))
	// Output:
	// completed draft loop_start_1 check mend loop_check_2 check mend loop_check_2 check mend loop_check_2 publish
	// ON TIDES!! 3
}

func words(v graph.View[Article]) string { return v.State.Text }

func countWords(_ context.Context, text string) (int, error) { return len(strings.Fields(text)), nil }

func Example_nested() {
	check := graph.Do("check", func(_ context.Context, a *Article) error {
		a.Approved = strings.HasSuffix(a.Text, "!!")
		return nil
	})
	mend := graph.Do("mend", func(_ context.Context, a *Article) error {
		a.Text += "!"
		return nil
	})
	g, err := graph.New[Article]("nested").
		Do("draft", draft).
		Then(graph.Loop(approved, graph.If(long, note("shorten")).Otherwise(check), mend).AtMost(5)).
		Then(graph.Tool("count", words, countWords)).
		If(func(v graph.View[Article]) bool { return v.Text("count") == "2" }, note("short")).
		Compile()
	eng := engine()
	defer eng.Close()
	res := must(hocket.Run(context.Background(), eng, must(g, err), Article{Topic: "tides"}))
	visited := strings.Join(res.Snapshot.VisitedNodes, " ")
	fmt.Println(res.Status, strings.ReplaceAll(visited, " decision_3", "\ndecision_3")) // a line per round
	fmt.Println(res.State.Text, res.State.Notes, string(res.Snapshot.Outputs["count"]))
	// Output:
	// completed draft loop_start_1
	// decision_3 check merge_4 mend loop_check_2
	// decision_3 check merge_4 mend loop_check_2
	// decision_3 check merge_4 mend loop_check_2 count decision_5 short merge_6
	// On tides!!! [short] 2
}

func Example_parallel() {
	slow := graph.Do("slow", func(ctx context.Context, _ *Article) error {
		<-ctx.Done() // the other branch won
		return ctx.Err()
	})
	g, err := graph.New[Article]("race").
		Then(graph.Race("ask", graph.Flow(graph.Do("draft", draft), graph.If(long, note("shorten"))), slow)).
		Do("publish", publish).
		Compile()
	fmt.Println(runAndPrint(g, err, Article{Topic: "tides"}).State.Text)
	// Output:
	// completed draft decision_1 merge_2 ask publish
	// ON TIDES
}

func Example_map() {
	type Page struct{ Name, Text string }
	pages := func(v graph.View[Article]) []Page {
		return []Page{{Name: "sea"}, {Name: "nowhere"}, {Name: v.State.Topic}}
	}
	fetch := func(_ context.Context, p *Page) error {
		if p.Name == "nowhere" {
			return errors.New("there is no such page")
		}
		p.Text = "On " + p.Name
		return nil
	}
	g, err := graph.New[Article]("pages").
		Then(graph.Map("pages", pages, graph.Do("fetch", fetch, graph.NodeOptions{Retry: graph.Retry{MaxAttempts: 1}})).
			AtOnce(2).
			SkipFailed().
			Into(func(a *Article, read []Page) error {
				for _, p := range read {
					a.Notes = append(a.Notes, p.Text)
				}
				return nil
			})).
		Compile()
	res := runAndPrint(g, err, Article{Topic: "tides"})
	fmt.Println(res.State.Notes, string(res.Snapshot.Outputs["pages"]))
	// Output:
	// completed pages
	// [On sea On tides] [{"Name":"sea","Text":"On sea"},null,{"Name":"tides","Text":"On tides"}]
}

// Payment is the value of a signal.
type Payment struct {
	Topic string `json:"topic"`
	Cents int    `json:"cents"`
}

func Example_await() {
	paid := func(a *Article, p Payment) error {
		a.Notes = append(a.Notes, fmt.Sprintf("paid %d", p.Cents))
		return nil
	}
	g, err := graph.New[Article]("paid").
		Do("draft", draft).
		Then(graph.Await("paid", "payment", paid).
			Where(func(v graph.View[Article], p Payment) bool { return p.Topic == v.State.Topic }).
			Within(24*time.Hour, Payment{})).
		Do("publish", publish).
		Compile()
	fmt.Println(runAndPrint(g, err, Article{Topic: "tides"}).State.Notes)
	// Output:
	// paused draft
	// []
}

func Example_failures() {
	press := graph.Do("print", func(context.Context, *Article) error { return errors.New("the press is broken") },
		graph.NodeOptions{
			Retry: graph.Retry{
				MaxAttempts: 2, Backoff: 10 * time.Millisecond,
				RetryOn: func(err error) bool { return strings.Contains(err.Error(), "broken") },
			},
			OnError: graph.OnError(func(err error, c *graph.Context[Article]) graph.ErrorAction[Article] {
				if c.Attempt < 2 {
					return graph.ErrorAction[Article]{} // as Retry says
				}
				return graph.ErrorAction[Article]{Action: graph.ActionGoto, Node: "handwrite"}
			}),
		})
	handwrite := graph.Do("handwrite", publish, graph.NodeOptions{Recovery: true})
	g, err := graph.New[Article]("print").
		Do("draft", draft).
		Then(press).
		Node(handwrite).
		Catch(note("alarm")).
		Compile()
	res := runAndPrint(g, err, Article{Topic: "tides"})
	fmt.Println(res.State.Text, len(res.Snapshot.Errors))
	// Output:
	// completed draft print handwrite
	// ON TIDES 2
}

func Example_once() {
	down := true
	pay := graph.Do("pay", func(ctx context.Context, a *Article) error {
		receipt, err := graph.Once(ctx, "charge", func(context.Context) (string, error) {
			fmt.Println("charging the card")
			return "receipt 1", nil
		})
		if err != nil {
			return err
		}
		a.Text, err = graph.Once(ctx, "mail", func(context.Context) (string, error) {
			if down {
				down = false
				return "", errors.New("the mail server is down")
			}
			return "mailed " + receipt, nil
		})
		return err
	}, graph.NodeOptions{Retry: graph.Retry{Backoff: time.Millisecond}})
	g, err := graph.New[Article]("shop").Start(pay).Compile()
	fmt.Println(runAndPrint(g, err, Article{}).State.Text)
	// Output:
	// charging the card
	// completed pay
	// mailed receipt 1
}

// Check is the state of an inner graph.
type Check struct {
	Text  string   `json:"text"`
	Wrong []string `json:"wrong"`
}

func Example_subgraph() {
	spelling, err := graph.New[Check]("spelling").
		Start(graph.Do("look", func(_ context.Context, c *Check) error {
			if strings.Contains(c.Text, "tieds") {
				c.Wrong = append(c.Wrong, "tieds")
			}
			return nil
		})).Compile()
	must(spelling, err)
	g, err := graph.New[Article]("article").
		Start(graph.Do("draft", draft)).
		Then(graph.Inner("check", spelling, nil, func(a *Article, last Check) error {
			a.Notes = last.Wrong
			return nil
		})).
		Compile()
	fmt.Println(runAndPrint(g, err, Article{Topic: "tieds"}).State.Notes)
	// Output:
	// completed draft check
	// [tieds]
}
