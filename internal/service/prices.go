package service

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
)

// cost gives what a call of a model cost in USD, nil where its price is not known (D14). It is a driver.Kit.Price.
func (c *Config) cost(ref string, u chat.Usage) *float64 { return c.Prices.Cost(fullRef(ref), u) }

// fullRef gives a reference with its provider, where a bare name tells one.
func fullRef(ref string) string {
	full, err := model.ParseRef(ref)
	if err != nil {
		return ref
	}
	return full.String()
}
