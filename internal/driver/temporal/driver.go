package temporal

import (
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
)

// Driver carries runs by way of Temporal, and drives all others itself. It implements driver.Driver. Safe for concurrent use.
type Driver struct {
	*embedded.Driver
	cfg Config
}

var _ driver.Driver = (*Driver)(nil)

// New makes a driver. It connects to nothing until a run is started, or Tend or Work is called.
func New(cfg Config) (*Driver, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Driver{cfg: cfg}
	d.Driver, err = embedded.New(cfg.Config)
	return d, err
}
