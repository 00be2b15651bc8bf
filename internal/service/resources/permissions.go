package resources

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/tool"
)

// permit adds to cfg what the operator permits and what the run has retained since it was last
// driven (SEC12, SEC14).
func (op *Opener) permit(ctx context.Context, info driver.Info, cfg *tool.Config) error {
	cfg.Permissions = op.cfg.Permissions
	if !op.isAllowed(info.Meta) { // no person was asked whether weaker rules may apply now
		var was tool.Permissions
		isKnown := json.Unmarshal([]byte(info.Meta[MetaRules]), &was) == nil
		if isKnown && len(op.weaker(info.Meta)) > 0 {
			cfg.Former = was
		}
		cfg.Permissions.Edit = slices.DeleteFunc(slices.Clone(cfg.Permissions.Edit), func(p string) bool {
			return !slices.Contains(was.Edit, p)
		})
	}
	cfg.Unattended = info.Meta[MetaUnattended] != ""
	cfg.PermissionsChanged = info.Meta[MetaPermissions] != PermissionsHash(op.cfg.Permissions)
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

// PermissionsHash returns a fingerprint of permissions; "" if they are empty.
func PermissionsHash(p tool.Permissions) string {
	if p.IsZero() {
		return ""
	}
	b, _ := json.Marshal(p) //nolint:errchkjson // texts cannot fail
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
