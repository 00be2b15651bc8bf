package hooks

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
)

// refusedRounds is the number of Pace.Every between two looks for refused schedules.
const refusedRounds = 30

// collectRefused creates notifications of the schedules whose runs are refused, once for each
// reason. known holds those that were seen before. It returns ErrMoved if another process created
// notifications in the meantime, or errors from the stores.
//
// A refusal is no event of a run, so it is in no feed. It is state in the store: no process misses
// it, however late it looks, and the ids of notifications keep several processes from repeating it.
func (h *Hooks) collectRefused(ctx context.Context, sp *space, known map[journal.ScheduleKey]time.Time,
	woken chan<- struct{}) error {
	endpoints, err := h.endpoints(ctx, sp)
	if err != nil {
		return err
	}
	endpoints = slices.DeleteFunc(endpoints, func(e Endpoint) bool {
		return len(e.On) > 0 && !slices.Contains(e.On, TypeScheduleRefused)
	})
	if len(endpoints) == 0 {
		return nil
	}
	list, err := sp.service.Refused(ctx)
	if err != nil {
		return err
	}
	var made []Notification
	for _, r := range list {
		if known[r.ScheduleKey].Equal(r.Refused) {
			continue
		}
		some, err := refusedNotifications(sp.name, r, endpoints)
		if err != nil {
			return err
		}
		made = append(made, some...)
	}
	if len(made) > 0 {
		at, err := cursor(ctx, sp)
		if err == nil {
			err = sp.store.Post(ctx, at, at, made)
		}
		if err != nil {
			return err
		}
		select {
		case woken <- struct{}{}:
		default:
		}
	}
	clear(known)
	for _, r := range list {
		known[r.ScheduleKey] = r.Refused
	}
	return nil
}

// refusedNotifications returns the notifications of one refused schedule. Endpoints that were
// created after it was refused get none.
func refusedNotifications(namespace string, r journal.Registration, endpoints []Endpoint) ([]Notification, error) {
	body, err := json.Marshal(&message{Type: TypeScheduleRefused, Timestamp: r.Refused.UTC(), Data: data{
		Namespace: namespace, Workflow: r.Workflow,
		Schedule: &scheduleData{Program: r.Program, Branch: r.Branch, ID: r.Schedule},
		Error:    &failure{Code: string(errcode.ScheduleRefused), Message: truncate(r.Refusal)},
	}})
	if err != nil {
		return nil, err
	}
	now := storedTime(time.Now())
	var out []Notification
	for _, e := range endpoints {
		if e.Created.After(r.Refused) || !wants(&e, TypeScheduleRefused, false, r.Workflow) {
			continue
		}
		out = append(out, Notification{
			ID:       notificationID(e.ID, "schedule "+r.String(), uint64(r.Refused.UnixMicro()), 0),
			Endpoint: e.ID, Type: TypeScheduleRefused, Body: body, State: StatePending, Made: now, Due: now,
		})
	}
	return out, nil
}
