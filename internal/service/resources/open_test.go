package resources

import (
	"log/slog"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/price"
	"github.com/hocket-run/hocket/internal/ratelimit"
	"github.com/hocket-run/hocket/internal/secret"
)

// newOpener returns an Opener with a test's configuration, and without an operator if it names
// none.
func newOpener(cfg Config) *Opener {
	if cfg.Operator == nil {
		cfg.Operator = &config.Config{}
	}
	cfg.Keeper, cfg.Logger, cfg.Prices, cfg.Limiters = &secret.Keeper{}, slog.New(slog.DiscardHandler), price.Default(),
		&ratelimit.Set{}
	cfg.Adapters = SharedAdapters(cfg.Adapters, cfg.Operator, cfg.Keeper)
	return New(cfg)
}
