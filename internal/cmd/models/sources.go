package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// maxBytes is the maximum size of a public table, and maxModels the maximum number of its
	// models.
	maxBytes  = 64 << 20
	maxModels = 50_000
	// fetchTimeout is the timeout of one download.
	fetchTimeout = 2 * time.Minute
	// maxPrice and maxWindow are the limits of package price.
	maxPrice  = 1_000_000
	maxWindow = 100_000_000
)

// fact is what a table says about one model. Prices are USD per million tokens, and nil if the
// table has none; they are used together or not at all.
type fact struct {
	input, output, cached, write *float64
	long                         *long
	window                       int
	retires                      string
	// general is set if the model accepts and produces text, calls tools, and is neither a preview
	// nor deprecated: it may become a new row.
	general bool
}

// fetch returns the facts of a table by model reference.
func fetch(ctx context.Context, url string) (map[string]fact, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("download: status %s", resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	if len(data) > maxBytes {
		return nil, fmt.Errorf("the table has more than %d bytes", maxBytes)
	}
	return read(data)
}

// read returns the facts of a table in one of the two forms.
func read(data []byte) (map[string]fact, error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	if len(top) > maxModels {
		return nil, fmt.Errorf("more than %d entries", maxModels)
	}
	facts := map[string]fact{}
	for name, raw := range top {
		var form struct {
			Models   json.RawMessage `json:"models"`
			Provider json.RawMessage `json:"litellm_provider"`
		}
		if err := json.Unmarshal(raw, &form); err != nil {
			return nil, fmt.Errorf("entry %q: %w", name, err)
		}
		var err error
		switch {
		case form.Models != nil:
			err = readModelsDev(name, form.Models, facts)
		case form.Provider != nil && name != "sample_spec":
			err = readLiteLLM(name, raw, facts)
		}
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", name, err)
		}
	}
	switch {
	case len(facts) == 0:
		return nil,
			errors.New("no model of a known provider; is it api.json of models.dev, or " +
				"model_prices_and_context_window.json of LiteLLM?")
	case len(facts) > maxModels:
		return nil, fmt.Errorf("more than %d models", maxModels)
	}
	return facts, nil
}

// providers maps the names of providers in public tables to ours.
var providers = map[string]string{
	"openai": "openai", "anthropic": "anthropic", "google": "google", "gemini": "google", "mistral": "mistral",
	"deepseek": "deepseek", "xai": "xai",
	"groq": "groq", "cerebras": "cerebras", "moonshot": "moonshot", "moonshotai": "moonshot",
}

type devPrices struct {
	Input  *float64 `json:"input"`
	Output *float64 `json:"output"`
	Read   *float64 `json:"cache_read"`
	Write  *float64 `json:"cache_write"`
}

// readModelsDev reads the models of one provider of models.dev.
func readModelsDev(provider string, data []byte, facts map[string]fact) error {
	ours, ok := providers[provider]
	if !ok || provider == "gemini" {
		return nil
	}
	var models map[string]struct {
		Cost struct {
			devPrices
			Over200 *devPrices `json:"context_over_200k"`
			Tiers   []struct {
				devPrices
				Tier struct {
					Size int `json:"size"`
				} `json:"tier"`
			} `json:"tiers"`
		} `json:"cost"`
		Limit struct {
			Context int `json:"context"`
		} `json:"limit"`
		Status     string `json:"status"`
		ToolCall   bool   `json:"tool_call"`
		Modalities struct {
			Output []string `json:"output"`
		} `json:"modalities"`
	}
	if err := json.Unmarshal(data, &models); err != nil {
		return fmt.Errorf("models: %w", err)
	}
	for id, m := range models {
		f := fact{
			input: m.Cost.Input, output: m.Cost.Output, cached: m.Cost.Read, write: m.Cost.Write,
			window: m.Limit.Context,
			general: m.Status == "" && m.ToolCall && len(m.Modalities.Output) == 1 &&
				m.Modalities.Output[0] == "text" && !strings.Contains(id, "preview"),
		}
		switch {
		case len(m.Cost.Tiers) == 1:
			f.long = longOf(m.Cost.Tiers[0].Tier.Size, m.Cost.Tiers[0].devPrices)
		case len(m.Cost.Tiers) == 0 && m.Cost.Over200 != nil:
			f.long = longOf(200_000, *m.Cost.Over200)
		}
		if err := f.check(); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		facts[ours+"/"+strings.ToLower(id)] = f
	}
	return nil
}

func longOf(over int, p devPrices) *long {
	if over <= 0 || p.Input == nil || p.Output == nil {
		return nil
	}
	return &long{Over: over, Input: *p.Input, Output: *p.Output, Cached: p.Read, Write: p.Write}
}

// readLiteLLM reads one model of LiteLLM's table, whose prices are per token. Its input limits are
// not the context window and are ignored.
func readLiteLLM(name string, data []byte, facts map[string]fact) error {
	var m struct {
		Provider string   `json:"litellm_provider"`
		Mode     string   `json:"mode"`
		Input    *float64 `json:"input_cost_per_token"`
		Output   *float64 `json:"output_cost_per_token"`
		Read     *float64 `json:"cache_read_input_token_cost"`
		Write    *float64 `json:"cache_creation_input_token_cost"`
		Retires  string   `json:"deprecation_date"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	ours, ok := providers[m.Provider]
	if !ok || m.Mode != "chat" && m.Mode != "responses" {
		return nil
	}
	f := fact{input: million(m.Input), output: million(m.Output), cached: million(m.Read), write: million(m.Write),
		retires: m.Retires}
	if f.retires != "" {
		if _, err := time.Parse(time.DateOnly, f.retires); err != nil {
			return fmt.Errorf("deprecation_date %q is no day", f.retires)
		}
	}
	if err := f.check(); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	for _, k := range []int{100, 128, 200, 256, 272} { // thousands of tokens above which prompts cost more
		over := "_above_" + strconv.Itoa(k) + "k_tokens"
		var p devPrices
		for key, to := range map[string]**float64{"input_cost_per_token": &p.Input, "output_cost_per_token": &p.Output,
			"cache_read_input_token_cost": &p.Read, "cache_creation_input_token_cost": &p.Write} {
			if raw, ok := all[key+over]; ok {
				if err := json.Unmarshal(raw, to); err != nil {
					return fmt.Errorf("%s: %w", key+over, err)
				}
				*to = million(*to)
			}
		}
		if f.long = longOf(k*1000, p); f.long != nil {
			break
		}
	}
	id := strings.ToLower(strings.TrimPrefix(name, m.Provider+"/"))
	facts[ours+"/"+id] = f
	return f.check()
}

// million returns the price per million tokens.
func million(p *float64) *float64 {
	if p == nil {
		return nil
	}
	v := *p * 1e6
	return &v
}

// check rounds prices to the six decimals of the table, rejects invalid numbers, and drops
// incomplete prices.
func (f *fact) check() error {
	prices := []*float64{f.input, f.output, f.cached, f.write}
	if f.long != nil {
		prices = append(prices, &f.long.Input, &f.long.Output, f.long.Cached, f.long.Write)
	}
	for _, p := range prices {
		if p == nil {
			continue
		}
		if *p < 0 || *p > maxPrice || math.IsNaN(*p) {
			return fmt.Errorf("the price %g is not from 0 to %d", *p, maxPrice)
		}
		*p = math.Round(*p*1e6) / 1e6
	}
	if f.window < 0 || f.window > maxWindow {
		return fmt.Errorf("the context window %d is not from 0 to %d", f.window, maxWindow)
	}
	if f.input == nil || f.output == nil || *f.input == 0 && *f.output == 0 { // unknown, or a free trial: no price
		f.input, f.output, f.cached, f.write, f.long = nil, nil, nil, nil, nil
	}
	return nil
}
