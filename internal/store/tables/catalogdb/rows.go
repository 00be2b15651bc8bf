package catalogdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// Rows implements catalog.Workflows.
func (s *Store) Rows(ctx context.Context, id string) (rows catalog.Rows, err error) {
	err = s.db.View(ctx, func(tx tables.Tx) error {
		var isThere bool
		rows, isThere, err = readRows(tx, id)
		if err == nil && !isThere {
			err = catalog.ErrNotFound
		}
		return err
	})
	if err != nil {
		return catalog.Rows{}, fmt.Errorf("read rows of workflow %s: %w", id, notFoundError(err))
	}
	return rows, nil
}

func readRows(tx tables.Tx, id string) (rows catalog.Rows, isThere bool, err error) {
	list := func(q tables.Text) (out []catalog.Row) {
		if err == nil {
			err = tx.Query(q, func(c []any) error {
				out = append(out, append(catalog.Row(nil), c...))
				return nil
			}, id)
		}
		return out
	}
	if w := list(sqlWorkflowRow); len(w) > 0 {
		rows.Workflow, isThere = w[0], true
	}
	rows.Nodes, rows.Edges = list(sqlNodeRows), list(sqlEdgeRows)
	return rows, isThere, err
}

// setRows replaces the rows of a workflow with want, nil for none, and reports whether they were
// equal already (S3-20).
func setRows(tx tables.Tx, id string, want *catalog.Rows, replace bool) (isSo bool, err error) {
	have, isThere, err := readRows(tx, id)
	switch {
	case err != nil:
		return false, err
	case want == nil && !isThere:
		return true, nil
	}
	if isSo = want != nil && isThere && have.Equal(want.Normal()); isSo && !replace {
		return true, nil
	}
	if want == nil || replace {
		for _, q := range []tables.Text{sqlDropEdges, sqlDropNodes, sqlDropWorkflow} {
			if err := tx.Do(q, id); err != nil {
				return false, err
			}
		}
	}
	if want == nil {
		return false, nil
	}
	if err := writeRow(tx, sqlSetWorkflowRow, "agent_workflows", catalog.WorkflowColumns(), want.Workflow); err != nil {
		return false, err
	}
	for _, t := range []struct {
		table          string
		columns        []catalog.Column
		rows           []catalog.Row
		ids, drop, set tables.Text
	}{
		{"agent_workflow_nodes", catalog.NodeColumns(), want.Nodes, sqlNodeIDs, sqlDropNode,
			tx.Dialect().Pick(sqlSetNodeRow, sqlSetNodeRowPostgres)},
		{"agent_workflow_edges", catalog.EdgeColumns(), want.Edges, sqlEdgeIDs, sqlDropEdge,
			tx.Dialect().Pick(sqlSetEdgeRow, sqlSetEdgeRowPostgres)},
	} {
		if err := dropOthers(tx, id, t.ids, t.drop, t.rows); err != nil {
			return false, err
		}
		for _, r := range t.rows {
			if err := writeRow(tx, t.set, t.table, t.columns, r); err != nil {
				return false, err
			}
		}
	}
	return isSo, nil
}

// dropOthers deletes the rows that are not in keep. A row without an ID is always deleted.
func dropOthers(tx tables.Tx, id string, ids, drop tables.Text, keep []catalog.Row) error {
	kept := map[string]bool{}
	for _, r := range keep {
		if s, ok := r.Normal()[0].(string); ok {
			kept[s] = true
		}
	}
	var gone []int64
	err := tx.Query(ids, func(c []any) error {
		if c[1] == nil || !kept[tables.String(c[1])] {
			gone = append(gone, tables.Int(c[0]))
		}
		return nil
	}, id)
	if err != nil {
		return err
	}
	for _, rowid := range gone {
		if err := tx.Do(drop, rowid); err != nil {
			return err
		}
	}
	return nil
}

// PutAgents implements catalog.Agents.
func (s *Store) PutAgents(ctx context.Context, agents []catalog.Row, replace bool, expect map[string]string) error {
	err := s.db.Write(ctx, len(agents)*rowBytes, func(tx tables.Tx) error {
		for id, tag := range expect {
			if err := expectedAgent(tx, id, tag); err != nil {
				return fmt.Errorf("store agent %s: %w", id, err)
			}
		}
		return putAgents(tx, agents, replace)
	})
	return withColumn(err, "agents")
}

// expectedAgent returns catalog.ErrChanged if the agent has another tag; "" matches any.
func expectedAgent(tx tables.Tx, id, expect string) error {
	tag := catalog.TagAbsent
	err := tx.Query(sqlAgent, func(c []any) error {
		tag = catalog.AgentTag(catalog.Row(c))
		return nil
	}, id)
	if err = notFoundError(err); err != nil && !errors.Is(err, catalog.ErrNotFound) {
		return err
	}
	return catalog.Expected(expect, tag)
}

func putAgents(tx tables.Tx, agents []catalog.Row, replace bool) error {
	for _, a := range agents {
		if replace {
			if err := write(tx, sqlDropAgent, "agents", []string{"id"}, a.Normal().ID()); err != nil {
				return fmt.Errorf("store agent %s: %w", a.ID(), err)
			}
		}
		if err := writeRow(tx, sqlSetAgent, "agents", catalog.AgentColumns(), a); err != nil {
			return fmt.Errorf("store agent %s: %w", a.ID(), err)
		}
	}
	return nil
}

// Agents implements catalog.Agents.
func (s *Store) Agents(ctx context.Context) (out []catalog.Row, err error) {
	err = s.db.View(ctx, func(tx tables.Tx) error {
		out = nil
		return tx.Query(sqlAgents, func(c []any) error {
			out = append(out, append(catalog.Row(nil), c...))
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	return out, nil
}

// DeleteAgent implements catalog.Agents.
func (s *Store) DeleteAgent(ctx context.Context, id, expect string, may func(entries []catalog.Entry) bool) error {
	err := s.db.Write(ctx, rowBytes, func(tx tables.Tx) error {
		changed := expectedAgent(tx, id, expect)
		if changed != nil && !errors.Is(changed, catalog.ErrChanged) {
			return changed
		}
		n, err := tx.Exec(sqlDropAgent, id)
		switch {
		case err != nil:
			return err
		case n == 0:
			return catalog.ErrNotFound
		case changed != nil:
			return changed // which restores the row
		case may == nil:
			return nil
		}
		entries, err := readEntries(tx)
		if err == nil && !may(entries) {
			err = catalog.ErrChanged // which restores the row
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("delete agent %s: %w", id, notFoundError(err))
	}
	return nil
}
