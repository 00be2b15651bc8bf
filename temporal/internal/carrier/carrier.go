// Package carrier implements the port carry on Temporal, with one connection per process that the
// drivers of all namespaces share.
package carrier

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/carry"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/temporal/internal/dial"
	"github.com/hocket-run/hocket/temporal/internal/temporaldriver"
)

// Intervals between checks of the server: until it has been usable for the first time, and
// afterwards.
const (
	soon  = time.Second
	later = 15 * time.Second
)

// Connect implements carry.Connect.
func Connect(cfg carry.Config) (carry.Carrier, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	conn, err := dial.New(dial.Config{Settings: cfg.Settings, Secret: cfg.Secret, Logger: cfg.Logger})
	if err != nil {
		return nil, err
	}
	return &carrier{cfg: cfg, conn: conn}, nil
}

// carrier implements carry.Carrier.
type carrier struct {
	cfg  carry.Config
	conn *dial.Conn

	mu         sync.Mutex
	wasReady   bool
	attributes bool
	last       error // why the last check found the server unusable
	told       string
}

// Prepare implements carry.Carrier.
func (c *carrier) Prepare(ctx context.Context) error {
	err := c.conn.Check(ctx)
	has := false
	if err == nil {
		has, err = c.conn.HasAttributes(ctx)
		if code, _ := errcode.Of(err); err != nil && code != errcode.TemporalUnreachable {
			err = nil // without permission to list them, it continues without
		}
	}
	c.mu.Lock()
	c.last, c.attributes, c.wasReady = err, has, c.wasReady || err == nil
	c.mu.Unlock()
	return err
}

// Drive implements carry.Carrier.
func (c *carrier) Drive(namespace string, cfg embedded.Config) (driver.Driver, error) {
	c.mu.Lock()
	attributes := c.attributes
	c.mu.Unlock()
	var queues []temporaldriver.Queue
	for _, q := range c.cfg.Queues {
		if !cfg.NoDrive {
			queues = append(queues, temporaldriver.Queue(q))
		}
	}
	return temporaldriver.New(temporaldriver.Config{Config: cfg, Client: c.conn.Client(), Namespace: namespace,
		Queues: queues, Functions: c.cfg.Program, Place: cfg.Place, Attributes: attributes})
}

// Watch implements carry.Carrier.
func (c *carrier) Watch(ctx context.Context) {
	c.mu.Lock()
	err, has := c.last, c.attributes
	c.mu.Unlock()
	c.logChange(err)
	if err == nil && !has {
		c.cfg.Logger.Warn("the namespace of Temporal lacks the search attributes HocketWorkflow and HocketStatus; "+
			"runs go on without them", "namespace", c.conn.Namespace())
	}
	for {
		every := later
		if c.Ready() != nil {
			every = soon
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
		err := c.conn.Check(ctx)
		if ctx.Err() != nil {
			return
		}
		c.mu.Lock()
		c.last, c.wasReady = err, c.wasReady || err == nil
		c.mu.Unlock()
		c.logChange(err)
	}
}

// logChange logs a change in the state of the connection.
func (c *carrier) logChange(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	c.mu.Lock()
	before := c.told
	c.told = text
	c.mu.Unlock()
	switch text {
	case before:
	case "":
		c.cfg.Logger.Info("Temporal can be used again", "address", c.conn.Address())
	default:
		c.cfg.Logger.Warn("Temporal cannot be used: runs that are started are stored and wait", "err", text)
	}
}

// Ready implements carry.Carrier.
func (c *carrier) Ready() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wasReady {
		return nil
	}
	if c.last == nil {
		return errcode.New(errcode.TemporalUnreachable, errcode.Fields{"address": c.conn.Address(),
			"namespace": c.conn.Namespace(), "cause": "it was not asked yet"}, nil)
	}
	return c.last
}

// Facts implements carry.Carrier.
func (c *carrier) Facts(ctx context.Context) ([]store.Fact, error) {
	facts := []store.Fact{{Name: "address", Value: c.conn.Address()}}
	r, err := c.conn.Report(ctx)
	namespace := store.Fact{Name: "namespace", Value: c.conn.Namespace()}
	if err != nil {
		return append(facts, namespace), err
	}
	namespace.Value += ", keeps ended workflows for " + r.Retention.String()
	attributes := store.Fact{Name: "search attributes", Value: dial.AttributeWorkflow + ", " + dial.AttributeStatus}
	if !r.Attributes {
		attributes.Value, attributes.Warning = "none", "add "+dial.AttributeWorkflow+" and "+dial.AttributeStatus+
			" of type Keyword to the namespace, to find runs by them"
	}
	return append(facts, store.Fact{Name: "version", Value: r.Version}, namespace, attributes), nil
}

// Close implements carry.Carrier.
func (c *carrier) Close() { c.conn.Close() }
