package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/model/modeltest"
)

const document = `
agents:
  a: {model: openai/fake, instruction: x}
workflow:
  - {type: agent, name: a}
`

// BenchmarkColdStart builds the binary as `make build` does and measures the time from starting
// `hocket run`, with a store of its own, to its first model call and to its exit.
func BenchmarkColdStart(b *testing.B) {
	dir := b.TempDir()
	bin := filepath.Join(dir, "hocket")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin,
		"github.com/hocket-run/hocket/cmd/hocket")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	doc := filepath.Join(dir, "a.yaml")
	if err := os.WriteFile(doc, []byte(document), 0o600); err != nil {
		b.Fatal(err)
	}
	arrived := make(chan time.Time, 1)
	server := modeltest.New(func(modeltest.Request) modeltest.Answer {
		arrived <- time.Now()
		return modeltest.Answer{Text: "done"}
	})
	url := serve(b, server)
	var first, whole []time.Duration
	for b.Loop() {
		c := exec.Command(bin, "run", doc, "hello", "-q", "--db", filepath.Join(b.TempDir(), "hocket.db"))
		c.Env = append(os.Environ(), "OPENAI_BASE_URL="+url+"/v1", "OPENAI_API_KEY=test")
		begin := time.Now()
		if out, err := c.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		whole = append(whole, time.Since(begin))
		first = append(first, (<-arrived).Sub(begin))
	}
	st, err := os.Stat(bin)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(median(first).Seconds()*1000, "first-call-p50-ms")
	b.ReportMetric(median(whole).Seconds()*1000, "whole-p50-ms")
	b.ReportMetric(float64(st.Size())/(1<<20), "binary-MiB")
}
