package cli

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/workflow"
)

// amounts describes the syntax of --budget.
const amounts = "tokens such as 200000, money such as 2.50USD, or calls such as 100calls"

// limitFlags are the flags that limit a run. A verb has a subset of them.
type limitFlags struct {
	maxSteps, maxLoops, maxConc int
	timeout                     time.Duration
	budgets                     []string
}

// limits returns the limits set by the flags.
func (fl *limitFlags) limits(c *cobra.Command) (l workflow.Limits, err error) {
	set := c.Flags().Changed
	if set("max-steps") {
		if l.MaxSteps = &fl.maxSteps; fl.maxSteps < 0 {
			return l, mustBe("max-steps", "0 or more", strconv.Itoa(fl.maxSteps))
		}
	}
	if set("timeout") {
		if l.Timeout = workflow.Duration(fl.timeout); fl.timeout <= 0 {
			return l, mustBe("timeout", "above 0", fl.timeout.String())
		}
	}
	if set("max-concurrency") {
		if l.MaxConcurrency = fl.maxConc; fl.maxConc < 1 {
			return l, mustBe("max-concurrency", "1 or more", strconv.Itoa(fl.maxConc))
		}
	}
	for _, text := range fl.budgets {
		b, err := workflow.ParseBudget(text)
		if err != nil {
			return l, mustBe("budget", amounts, text)
		}
		l = engine.MergeLimits(l, b)
	}
	if set("max-iterations") {
		if l.MaxLoopIterations = fl.maxLoops; fl.maxLoops < 1 {
			return l, mustBe("max-iterations", "1 or more", strconv.Itoa(fl.maxLoops))
		}
	}
	return l, nil
}
