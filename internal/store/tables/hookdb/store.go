// Package hookdb stores webhooks, endpoints, notifications and used approve links in a store, next
// to the runs.
//
// It does not depend on the database driver: it reads and writes in transactions that the journal's
// store provides. The tables are created by that store's migrations.
//
// Invariants: SQL text is constant (SEC7); the store belongs to one namespace, so no statement
// names one (SEC10); what a call wrote is on disk when the call returns.
package hookdb

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/hocket-run/hocket/internal/api/hooks/hookdata"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// rowBytes is the approximate size of a row without its text.
const rowBytes = 400

// Store stores hooks in a store's tables. It is safe for concurrent use, including by several
// processes.
type Store struct{ db tables.DB }

var _ hookdata.Store = (*Store)(nil)

// New returns a Store in an open store, which it does not close.
func New(db tables.DB) *Store { return &Store{db} }

// deleted is the reason of webhooks that the store itself disabled because their workflow was
// deleted.
const deleted = "the workflow was deleted"

func webhookOf(c []any) (w hookdata.Webhook, err error) {
	if err = decode(c[0], &w); err != nil {
		return w, err
	}
	if at := tables.Time(c[1]); !at.IsZero() && w.Disabled.IsZero() {
		w.Disabled, w.Reason = at, deleted
	}
	return w, nil
}

// Webhooks implements hookdata.Store.
func (s *Store) Webhooks(ctx context.Context) (out []hookdata.Webhook, err error) {
	err = s.db.View(ctx, func(tx tables.Tx) error {
		out = nil
		return tx.Query(sqlWebhooks, func(c []any) error {
			w, err := webhookOf(c)
			out = append(out, w)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read webhooks: %w", err)
	}
	return out, nil
}

// Webhook implements hookdata.Store.
func (s *Store) Webhook(ctx context.Context, path [sha256.Size]byte) (w hookdata.Webhook, err error) {
	found := false
	err = s.db.View(ctx, func(tx tables.Tx) error {
		found = false
		return tx.Query(sqlWebhookByPath, func(c []any) (err error) {
			found = true
			w, err = webhookOf(c)
			return err
		}, path[:])
	})
	if err == nil && !found {
		err = hookdata.ErrNone
	}
	if err != nil {
		return hookdata.Webhook{}, fmt.Errorf("read webhook: %w", err)
	}
	return w, nil
}

// SetWebhook implements hookdata.Store.
func (s *Store) SetWebhook(ctx context.Context, id string, change func(*hookdata.Webhook) error) (
	w hookdata.Webhook, err error) {
	err = s.db.Write(ctx, rowBytes, func(tx tables.Tx) error {
		w = hookdata.Webhook{}
		if err := tx.Query(sqlWebhook, func(c []any) (err error) {
			w, err = webhookOf(c)
			return err
		}, id); err != nil {
			return err
		}
		if err := change(&w); err != nil {
			return err
		}
		w.ID = id
		data, err := json.Marshal(w)
		if err != nil {
			return err
		}
		digest := w.Digest()
		err = tx.Do(sqlSetWebhook, w.ID, digest[:], w.Workflow, tables.Micros(w.Created), tables.Micros(w.Disabled),
			string(data))
		return err
	})
	if err != nil {
		return hookdata.Webhook{}, fmt.Errorf("write webhook: %w", err)
	}
	return w, nil
}

// DeleteWebhook implements hookdata.Store.
func (s *Store) DeleteWebhook(ctx context.Context, id string) error {
	err := s.db.Write(ctx, rowBytes, func(tx tables.Tx) error {
		n, err := tx.Exec(sqlDeleteWebhook, id)
		if err != nil || n == 0 {
			return notFoundError(err)
		}
		err = tx.Do(sqlDeleteDeliveries, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete webhook: %w", err)
	}
	return nil
}

// notFoundError converts the error of changing a row that does not exist.
func notFoundError(err error) error {
	if err == nil || tables.IsAbsent(err) {
		return hookdata.ErrNone
	}
	return err
}

// Deliver implements hookdata.Store.
func (s *Store) Deliver(ctx context.Context, d hookdata.Delivery) (hookdata.Delivery, error) {
	first := d
	err := s.db.Write(ctx, rowBytes, func(tx tables.Tx) error {
		if err := tx.Do(sqlForgetDelivery, d.Webhook, d.Key[:], tables.Micros(d.At)); err != nil {
			return err
		}
		if err := tx.Do(sqlDeliver, d.Webhook, d.Key[:], tables.Micros(d.At), tables.Micros(d.Until)); err != nil {
			return err
		}
		return tx.Query(sqlDelivery, func(c []any) error {
			first.At, first.Until = tables.Time(c[0]), tables.Time(c[1])
			return nil
		}, d.Webhook, d.Key[:])
	})
	if err != nil {
		return hookdata.Delivery{}, fmt.Errorf("write delivery: %w", err)
	}
	return first, nil
}

// Endpoints implements hookdata.Store.
func (s *Store) Endpoints(ctx context.Context) (out []hookdata.Endpoint, err error) {
	err = s.db.View(ctx, func(tx tables.Tx) error {
		out = nil
		return tx.Query(sqlEndpoints, func(c []any) error {
			var e hookdata.Endpoint
			err := decode(c[0], &e)
			out = append(out, e)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read endpoints: %w", err)
	}
	return out, nil
}

// SetEndpoint implements hookdata.Store.
func (s *Store) SetEndpoint(ctx context.Context, id string, change func(*hookdata.Endpoint) error) (
	e hookdata.Endpoint, err error) {
	err = s.db.Write(ctx, rowBytes, func(tx tables.Tx) error {
		e = hookdata.Endpoint{}
		if err := tx.Query(sqlEndpoint, func(c []any) error { return decode(c[0], &e) }, id); err != nil {
			return err
		}
		if err := change(&e); err != nil {
			return err
		}
		e.ID = id
		data, err := json.Marshal(e)
		if err != nil {
			return err
		}
		err = tx.Do(sqlSetEndpoint, e.ID, tables.Micros(e.Created), string(data))
		return err
	})
	if err != nil {
		return hookdata.Endpoint{}, fmt.Errorf("write endpoint: %w", err)
	}
	return e, nil
}

// DeleteEndpoint implements hookdata.Store.
func (s *Store) DeleteEndpoint(ctx context.Context, id string) error {
	err := s.db.Write(ctx, rowBytes, func(tx tables.Tx) error {
		n, err := tx.Exec(sqlDeleteEndpoint, id)
		if err != nil || n == 0 {
			return notFoundError(err)
		}
		err = tx.Do(sqlDropNotifications, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete endpoint: %w", err)
	}
	return nil
}

// Use implements hookdata.Store.
func (s *Store) Use(ctx context.Context, u hookdata.Use) (hookdata.Use, error) {
	data, err := json.Marshal(u)
	if err == nil {
		err = s.db.Write(ctx, rowBytes, func(tx tables.Tx) error {
			if err := tx.Do(sqlUse, u.Nonce, tables.Micros(u.Until), string(data)); err != nil {
				return err
			}
			return tx.Query(sqlUsed, func(c []any) error { return decode(c[0], &u) }, u.Nonce)
		})
	}
	if err != nil {
		return hookdata.Use{}, fmt.Errorf("use link: %w", err)
	}
	return u, nil
}

// Used implements hookdata.Store.
func (s *Store) Used(ctx context.Context, nonce string) (u hookdata.Use, err error) {
	err = s.db.View(ctx, func(tx tables.Tx) error {
		u = hookdata.Use{}
		return tx.Query(sqlUsed, func(c []any) error { return decode(c[0], &u) }, nonce)
	})
	if err == nil && u.Nonce == "" || tables.IsAbsent(err) {
		err = hookdata.ErrNone
	}
	if err != nil {
		return hookdata.Use{}, fmt.Errorf("read use of link: %w", err)
	}
	return u, nil
}

// Unuse implements hookdata.Store.
func (s *Store) Unuse(ctx context.Context, nonce string) error {
	err := s.db.Write(ctx, rowBytes, func(tx tables.Tx) error {
		err := tx.Do(sqlUnuse, nonce)
		return err
	})
	if err != nil && !tables.IsAbsent(err) {
		return fmt.Errorf("delete use of link: %w", err)
	}
	return nil
}

// decode decodes a JSON column.
func decode(column, into any) error {
	text, _ := column.(string)
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("decode hooks row: %w", err)
	}
	return nil
}
