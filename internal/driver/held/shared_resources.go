package held

import (
	"context"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// kit holds the resources for the calls of a run held in common, as opened by this process.
type kit struct {
	*driver.RunResources
	// seq is the last event that its tools and its reply script know of; made are the calls made
	// with the kit since then.
	seq       uint64
	callsMade map[string]bool
	users     int
	// stale means that calls that its tools or its reply script do not know of have since been made
	// elsewhere.
	stale bool
}

// Kit returns the resources for the calls of a run, opening them if necessary, and the information
// about the run; call is the call that will be made with them. release must be called after the
// call.
//
// Errors: those of driver.OpenFunc; those of Look.
func (c *Common) Kit(ctx context.Context, call string) (
	res *driver.RunResources, info *driver.Info, release func(), err error) {
	if err := c.enter(ctx); err != nil {
		return nil, nil, nil, err
	}
	defer c.leave()
	if c.run == nil {
		if err := c.catchUp(ctx); err != nil {
			return nil, nil, nil, err
		}
	}
	if c.kit != nil && c.kit.stale {
		c.giveUpKit()
	}
	if c.kit == nil {
		seq := c.run.Seq()
		res, err := Equip(ctx, c.cs.cfg.Open, c.info, c.plan.Program)
		if err != nil {
			return nil, nil, nil, err
		}
		c.kit = &kit{RunResources: res, seq: seq, callsMade: map[string]bool{}, users: 1} // the use by the run itself
	}
	k := c.kit
	k.users++
	k.callsMade[call] = true
	known := c.info
	return k.RunResources, &known, func() { c.releaseKit(k) }, nil
}

// releaseKit ends one use of a kit.
func (c *Common) releaseKit(k *kit) {
	c.lock <- struct{}{}
	defer c.leave()
	c.closeUnused(k)
}

func (c *Common) closeUnused(k *kit) {
	if k.users--; k.users > 0 {
		return
	}
	if err := k.Close(); err != nil {
		c.cs.cfg.Logger.Warn("close tools", "run", c.id, "err", err)
	}
}

// giveUpKit makes the next call open a new kit.
func (c *Common) giveUpKit() {
	k := c.kit
	c.kit = nil
	c.closeUnused(k)
}

// dropKit is giveUpKit for an unused run.
func (c *Common) dropKit() {
	if c.kit != nil {
		c.giveUpKit()
	}
}

// folded is called with the events that other processes appended.
func (c *Common) folded(e event.Event) {
	k := c.kit
	if k == nil || k.stale || e.Seq <= k.seq {
		return
	}
	switch d := e.Data.(type) {
	case *event.ToolReturned:
		k.stale = k.Tools != nil && !k.Stateless && !k.callsMade[engine.CommandID(d.Call, d.Attempt)]
	case *event.ModelReplied:
		k.stale = d.Source != "" && !k.callsMade[engine.CommandID(d.Call, d.Attempt)]
	case *event.ModelFailed:
		k.stale = d.Source != "" && !k.callsMade[engine.CommandID(d.Call, d.Attempt)]
	}
}
