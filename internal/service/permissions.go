package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/tool"
)

// permit puts into cfg what the operator permits and what the run holds on to since it was driven last (SEC12, SEC14).
func (k *kits) permit(ctx context.Context, info driver.Info, cfg *tool.Config) error {
	cfg.Permissions = k.cfg.Permissions
	if was := (tool.Permissions{}); len(k.weaker(info.Meta)) > 0 && !k.isAllowed(info.Meta) && json.Unmarshal([]byte(info.Meta[metaRules]), &was) == nil {
		cfg.Former = was // no person was asked whether less may hold now
	}
	cfg.PermissionsChanged = info.Meta[metaPermissions] != permissionsHash(k.cfg.Permissions)
	listed := len(cfg.Extra) > 0
	for _, g := range cfg.Agents {
		listed = listed || len(g.Toolsets) > 0
	}
	if !listed {
		return nil // nothing that could be pinned
	}
	h, err := info.History(ctx)
	if err != nil {
		return err
	}
	cfg.Pins = h.Pins
	return nil
}

// permissionsHash fingerprints permissions; "" where they say nothing.
func permissionsHash(p tool.Permissions) string {
	if p.IsZero() {
		return ""
	}
	b, _ := json.Marshal(p) //nolint:errchkjson // texts cannot fail
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
