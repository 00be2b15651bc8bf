// Command live runs the examples against real models, and prints what differed from what Hocket expects of their providers: unknown fields and words, refusals,
// missing usage, answers that were not streamed, runs that did not complete.
//
// It is for a person with keys: `make live`, or `make live MODELS="openai/gpt-6.1-terra mistral/mistral-small-latest"`. It takes ten minutes at most and spends less
// than a dollar. It refuses to run in CI.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/providers"
)

const (
	within = 10 * time.Minute
	// maxUSD bounds what all runs cost, and maxTokens what the runs of a model use that has no price.
	maxUSD    = 0.96
	maxTokens = 60_000
	// maxModels keeps the share of a model large enough for the examples.
	maxModels = 6
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ctx, cancel := context.WithTimeout(ctx, within)
	err := start(ctx)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		os.Exit(1)
	}
}

// start runs the examples in their folder: some name files in it.
func start(ctx context.Context) error {
	keep, err := filepath.Abs(filepath.Join(".cache", "live"))
	if err != nil {
		return err
	}
	if err := os.Chdir("examples"); err != nil {
		return fmt.Errorf("start this in the folder of the repository: %w", err)
	}
	return live(ctx, config{models: os.Args[1:], env: os.Getenv, examples: ".", keep: keep, out: os.Stdout})
}

// config says what is run.
type config struct {
	// models are references such as openai/gpt-6.1-terra; none: an inexpensive one of each provider whose key is set.
	models   []string
	env      model.Env
	examples string
	// keep is the folder for the exchanges that differed.
	keep string
	out  io.Writer
}

// defaults are inexpensive models of the providers that have an adapter of their own.
var defaults = []string{"openai/gpt-6.1-terra", "anthropic/claude-haiku-5-5", "google/gemini-3.5-flash-lite"}

func live(ctx context.Context, cfg config) error {
	for _, name := range []string{"CI", "GITHUB_ACTIONS"} {
		if v := cfg.env(name); v != "" && v != "false" && v != "0" {
			return fmt.Errorf("%s=%s: this spends money of a person, and does not run in CI", name, v)
		}
	}
	models, err := cfg.chosen()
	if err != nil {
		return err
	}
	all, err := examples(cfg.examples)
	if err != nil {
		return err
	}
	fmt.Fprintf(cfg.out, "%d examples with each of %s: %s at most, less than 1 USD\n", len(all), strings.Join(models, ", "), within)
	targets := make([]*target, len(models))
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i, ref := range models {
		targets[i] = newTarget(ref, cfg.env, maxUSD/float64(len(models)))
		wg.Go(func() {
			for _, e := range all {
				r := targets[i].run(ctx, e)
				mu.Lock()
				fmt.Fprintln(cfg.out, r)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	written := 0
	for _, t := range targets {
		t.report(cfg.out)
		n, err := t.write(cfg.keep)
		if err != nil {
			return err
		}
		written += n
	}
	if written > 0 {
		fmt.Fprintf(cfg.out, "\nThe first exchange of each difference is in %s, with its prompt and answer, without the key.\n", cfg.keep)
	}
	if ctx.Err() != nil {
		return errors.New("interrupted, or not done in time: what is above is not all")
	}
	return nil
}

// chosen returns the models to run.
func (cfg config) chosen() ([]string, error) {
	registry := providers.New(model.Config{Env: cfg.env}, nil)
	models := cfg.models
	if len(models) == 0 {
		for _, ref := range defaults {
			if registry.Check(ref) == nil {
				models = append(models, ref)
			}
		}
	}
	if len(models) == 0 {
		return nil, errors.New("no key is set: set OPENAI_API_KEY, ANTHROPIC_API_KEY or GOOGLE_API_KEY, or name models, such as MODELS=mistral/mistral-small-latest")
	}
	if len(models) > maxModels {
		return nil, fmt.Errorf("%d models: at most %d at a time", len(models), maxModels)
	}
	for _, ref := range models {
		if err := registry.Check(ref); err != nil {
			return nil, err
		}
	}
	return models, nil
}

// example is a folder of the examples.
type example struct {
	dir, name string
	args      []string
}

// examples lists those that need no person to answer and no branch to be chosen, with the files that belong to them.
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
		if err != nil || len(docs) != 1 || has("answers.txt") || has("branch.txt") || has("flags.txt") || name == "expenses" {
			continue
		}
		e := example{dir: dir, name: name, args: []string{"run", docs[0]}}
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

// streams are those of a command line that answers no question.
func streams(env model.Env, out, errs io.Writer) cli.Streams {
	return cli.Streams{In: strings.NewReader(""), Out: out, Err: errs, Env: env}
}
