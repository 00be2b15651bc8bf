// Command live runs the examples against real models, and prints how the providers differ from what
// Hocket expects: unknown fields and words, refusals, missing usage, replies that were not
// streamed, runs that did not complete.
//
// It is for a person with API keys: `make live`, or `make live MODELS="openai/gpt-6.1-terra
// mistral/mistral-small-latest"`. It takes at most ten minutes and spends less than a dollar on
// models that have a price; a model without one is limited to 60,000 tokens. It does not run in CI.
// It ignores the person's hocket.yaml and Hocket's environment variables.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/providers"
)

const (
	maxDuration = 10 * time.Minute
	// maxUSD is the maximum cost of all models with a price together, and maxTokens the maximum
	// usage of a model without one.
	maxUSD    = 0.96
	maxTokens = 60_000
	// maxModels keeps each model's share of the budget large enough for the examples.
	maxModels = 6
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ctx, cancel := context.WithTimeout(ctx, maxDuration)
	err := start(ctx)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		os.Exit(1)
	}
}

// start runs the examples from their own directory, since some of them refer to files in it.
func start(ctx context.Context) error {
	dir, err := filepath.Abs(filepath.Join(".cache", "live"))
	if err != nil {
		return err
	}
	if err := os.Chdir("examples"); err != nil {
		return fmt.Errorf("start this in the folder of the repository: %w", err)
	}
	return live(ctx, config{models: os.Args[1:], env: os.Getenv, examples: ".", exchangeDir: dir, out: os.Stdout})
}

// config configures live.
type config struct {
	// models are references such as openai/gpt-6.1-terra; if empty, an inexpensive model of each
	// provider whose key is set is used.
	models   []string
	env      model.Env
	examples string
	// exchangeDir is the directory for the exchanges that differed.
	exchangeDir string
	out         io.Writer
}

// defaults are inexpensive models of the providers that have their own adapters.
var defaults = []string{"openai/gpt-6.1-terra", "anthropic/claude-haiku-5-5", "google/gemini-3.5-flash-lite"}

func live(ctx context.Context, cfg config) error {
	for _, name := range []string{"CI", "GITHUB_ACTIONS"} {
		if v := cfg.env(name); v != "" && v != "false" && v != "0" {
			return fmt.Errorf("%s=%s: this spends money of a person, and does not run in CI", name, v)
		}
	}
	cfg.env = withoutSettings(cfg.env)
	models, err := cfg.chosen()
	if err != nil {
		return err
	}
	all, err := examples(cfg.examples)
	if err != nil {
		return err
	}
	targets := make([]*target, len(models))
	bound := "less than 1 USD"
	for i, ref := range models {
		targets[i] = newTarget(ref, cfg.env, maxUSD/float64(len(models)))
		if !targets[i].isPriced {
			bound = fmt.Sprintf("less than 1 USD, and at most %d tokens of each model without a price", maxTokens)
		}
	}
	fmt.Fprintf(cfg.out, "%d examples with each of %s: at most %s; %s\n", len(all), strings.Join(models, ", "),
		maxDuration, bound)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, t := range targets {
		wg.Go(func() {
			for _, e := range all {
				if ctx.Err() != nil {
					return
				}
				line := t.run(ctx, e)
				mu.Lock()
				fmt.Fprintln(cfg.out, line)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := clearDir(cfg.exchangeDir); err != nil {
		return err
	}
	written := 0
	for _, t := range targets {
		t.report(cfg.out)
		n, err := t.write(cfg.exchangeDir)
		if err != nil {
			return err
		}
		written += n
	}
	if written > 0 {
		fmt.Fprintf(cfg.out, "\nThe first exchange of each difference is in %s, with its prompt and answer, without "+
			"the key.\n", cfg.exchangeDir)
	}
	if ctx.Err() != nil {
		return errors.New("interrupted or out of time: the results above are incomplete")
	}
	return nil
}

// withoutSettings returns an environment without the person's configuration of Hocket, which could
// change prices and add calls that cost money.
func withoutSettings(env model.Env) model.Env {
	return func(name string) string {
		if name == "HOME" || name == "USERPROFILE" || strings.HasPrefix(name, "HOCKET_") ||
			strings.HasPrefix(name, "OTEL_") || strings.HasPrefix(name, "XDG_") {
			return ""
		}
		return env(name)
	}
}

// chosen returns the full references of the models to run.
func (cfg config) chosen() ([]string, error) {
	registry := providers.New(model.Config{Env: cfg.env}, nil)
	asked := cfg.models
	if len(asked) == 0 {
		for _, ref := range defaults {
			if registry.Check(ref) == nil {
				asked = append(asked, ref)
			}
		}
	}
	if len(asked) == 0 {
		return nil,
			errors.New("no key is set: set OPENAI_API_KEY, ANTHROPIC_API_KEY or GOOGLE_API_KEY, or name models, such " +
				"as MODELS=mistral/mistral-small-latest")
	}
	var models []string
	for _, ref := range asked {
		_, full, err := registry.Client(ref)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(models, full.String()) {
			models = append(models, full.String())
		}
	}
	if len(models) > maxModels {
		return nil, fmt.Errorf("%d models: at most %d at a time", len(models), maxModels)
	}
	return models, nil
}

// example is a directory of the examples.
type example struct {
	name string
	args []string
}

// examples returns the examples that run without a person, a branch or their own flags. It leaves
// out expenses, which reads receipts in the directory where it is started.
func examples(dir string) ([]example, error) {
	scripts, err := filepath.Glob(filepath.Join(dir, "*", "replies.yaml"))
	if err != nil {
		return nil, err
	}
	var all []example
	for _, script := range scripts {
		folder := filepath.Dir(script)
		name := filepath.Base(folder)
		has := func(file string) bool {
			_, err := os.Stat(filepath.Join(folder, file))
			return err == nil
		}
		docs, err := filepath.Glob(filepath.Join(folder, name+".*"))
		if err != nil || len(docs) != 1 || has("answers.txt") || has("branch.txt") || has("flags.txt") ||
			name == "expenses" {
			continue
		}
		e := example{name: name, args: []string{"run", docs[0]}}
		for _, file := range []string{"agents", "tools"} {
			if has(file + ".yaml") {
				e.args = append(e.args, "--"+file, filepath.Join(folder, file+".yaml"))
			}
		}
		if in, err := os.ReadFile(filepath.Join(folder, "input.txt")); err == nil {
			e.args = append(e.args, "--", strings.TrimSpace(string(in)))
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no examples", dir)
	}
	return all, nil
}

// clearDir creates a directory, or removes the exchanges of an earlier invocation from it.
func clearDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// streams returns the streams of a command line that answers no questions.
func streams(env model.Env, out, errs io.Writer) cli.Streams {
	return cli.Streams{In: strings.NewReader(""), Out: out, Err: errs, Env: env}
}
