package catalogdb

import "github.com/hocket-run/hocket/internal/store/tables"

// All SQL of the catalog. Columns are in the order of catalog's column lists; a test compares them.
const (
	sqlDocument    = tables.Text(`SELECT published, draft, latest, updated FROM workflow_documents WHERE id = ?`)
	sqlSetDocument = tables.Text(
		`INSERT INTO workflow_documents (id, published, draft, latest, updated) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET published = excluded.published, draft = excluded.draft, latest = excluded.latest, ` +
			`updated = excluded.updated`)

	sqlIsText = tables.Text(
		`SELECT 1 FROM workflow_versions WHERE workflow_id = ? AND version = ? AND format = ? AND hash = ?`)
	sqlNewVersion = tables.Text(
		`INSERT INTO workflow_versions (workflow_id, version, format, name, file, digest, hash, created, text, labels)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	sqlVersion = tables.Text(
		`SELECT version, format, name, file, digest, created, labels, hash, text FROM workflow_versions
WHERE workflow_id = ? AND version = ?`)
	sqlVersions = tables.Text(`SELECT version, format, name, file, digest, created, labels FROM workflow_versions ` +
		`WHERE workflow_id = ? ORDER BY version`)

	// A workflow exists if it has a version or a row. Its name is the row's if rows are published,
	// else that of the published version, else the draft's. The labels are those of the version
	// that provides the name; versions of rows have none.
	entries = `SELECT i.id, CASE WHEN r.id IS NOT NULL AND coalesce(p.format, 'routes') = 'routes' THEN ` +
		`coalesce(r.name, '')
    ELSE coalesce(p.name, d.name, '') END, coalesce(p.format, d.format, 'routes'),
  coalesce(w.published, 0), coalesce(w.draft, 0), r.id IS NOT NULL, coalesce(w.updated, 0), coalesce(p.labels, ` +
		`d.labels, '')
FROM (SELECT workflow_id AS id FROM @workflow_versions UNION SELECT id FROM @agent_workflows) i
LEFT JOIN @workflow_documents w ON w.id = i.id
LEFT JOIN @agent_workflows r ON r.id = i.id
LEFT JOIN @workflow_versions p ON p.workflow_id = i.id AND p.version = w.published
LEFT JOIN @workflow_versions d ON d.workflow_id = i.id AND d.version = w.draft AND r.id IS NULL`
	sqlEntries = tables.Text(entries + ` ORDER BY i.id`)
	sqlEntry   = tables.Text(entries + ` WHERE i.id = ?`)

	sqlForgetDocument = tables.Text(`UPDATE workflow_documents SET published = 0, draft = 0, updated = 0 WHERE id = ?`)
	sqlDropVersions   = tables.Text(`DELETE FROM workflow_versions WHERE workflow_id = ?`)
	sqlDropLayout     = tables.Text(`DELETE FROM workflow_layouts WHERE workflow_id = ?`)
	sqlDropWorkflow   = tables.Text(`DELETE FROM agent_workflows WHERE id = ?`)
	sqlDropNodes      = tables.Text(`DELETE FROM agent_workflow_nodes WHERE workflow_id = ?`)
	sqlDropEdges      = tables.Text(`DELETE FROM agent_workflow_edges WHERE workflow_id = ?`)
)

// Layouts.
const (
	sqlLayout    = tables.Text(`SELECT layout FROM workflow_layouts WHERE workflow_id = ?`)
	sqlSetLayout = tables.Text(`INSERT INTO workflow_layouts (workflow_id, layout) VALUES (?, ?) ON CONFLICT ` +
		`(workflow_id) DO UPDATE SET layout = excluded.layout`)
)

// Rows.
const (
	sqlWorkflowRow = tables.Text(
		`SELECT id, name, description, is_conversational, entrypoint_node_id, human_handoff, max_steps, ` +
			`timeout_ms, agents
FROM agent_workflows WHERE id = ?`)
	sqlNodeRows = tables.Text(`SELECT id, workflow_id, node_type, node_name, agent_id, prompt
FROM agent_workflow_nodes WHERE workflow_id = ? ORDER BY rowid`)
	sqlEdgeRows = tables.Text(`SELECT id, workflow_id, source_node_id, target_node_id, condition_type, condition_value
FROM agent_workflow_edges WHERE workflow_id = ? ORDER BY rowid`)

	sqlSetWorkflowRow = tables.Text(`INSERT INTO agent_workflows
  (id, name, description, is_conversational, entrypoint_node_id, human_handoff, max_steps, timeout_ms, agents)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, description = excluded.description, is_conversational = ` +
		`excluded.is_conversational,
  entrypoint_node_id = excluded.entrypoint_node_id, human_handoff = excluded.human_handoff, max_steps = ` +
		`excluded.max_steps,
  timeout_ms = excluded.timeout_ms, agents = excluded.agents`)

	// An existing row moves to the end, so that all rows of a workflow end up in the order in which
	// they are written. In PostgreSQL rowid is an identity column.
	sqlSetNodeRow = tables.Text(
		`INSERT INTO agent_workflow_nodes (id, workflow_id, node_type, node_name, agent_id, prompt)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (workflow_id, id) DO UPDATE SET rowid = (SELECT max(rowid) + 1 FROM agent_workflow_nodes), node_type = ` +
			`excluded.node_type,
  node_name = excluded.node_name, agent_id = excluded.agent_id, prompt = excluded.prompt`)
	sqlSetNodeRowPostgres = tables.Text(
		`INSERT INTO agent_workflow_nodes (id, workflow_id, node_type, node_name, agent_id, prompt)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (workflow_id, id) DO UPDATE SET rowid = excluded.rowid, node_type = excluded.node_type,
  node_name = excluded.node_name, agent_id = excluded.agent_id, prompt = excluded.prompt`)
	sqlSetEdgeRow = tables.Text(
		`INSERT INTO agent_workflow_edges (id, workflow_id, source_node_id, target_node_id, condition_type, ` +
			`condition_value)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (workflow_id, id) DO UPDATE SET rowid = (SELECT max(rowid) + 1 FROM agent_workflow_edges),
  source_node_id = excluded.source_node_id, target_node_id = excluded.target_node_id, condition_type = ` +
			`excluded.condition_type,
  condition_value = excluded.condition_value`)
	sqlSetEdgeRowPostgres = tables.Text(
		`INSERT INTO agent_workflow_edges (id, workflow_id, source_node_id, target_node_id, condition_type, ` +
			`condition_value)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (workflow_id, id) DO UPDATE SET rowid = excluded.rowid,
  source_node_id = excluded.source_node_id, target_node_id = excluded.target_node_id, condition_type = ` +
			`excluded.condition_type,
  condition_value = excluded.condition_value`)

	sqlNodeIDs  = tables.Text(`SELECT rowid, id FROM agent_workflow_nodes WHERE workflow_id = ?`)
	sqlEdgeIDs  = tables.Text(`SELECT rowid, id FROM agent_workflow_edges WHERE workflow_id = ?`)
	sqlDropNode = tables.Text(`DELETE FROM agent_workflow_nodes WHERE rowid = ?`)
	sqlDropEdge = tables.Text(`DELETE FROM agent_workflow_edges WHERE rowid = ?`)
)

// Agents.
const (
	sqlAgents = tables.Text(
		`SELECT id, name, description, system_prompt, model, tools, definition FROM agents ORDER BY id`)
	sqlAgent = tables.Text(
		`SELECT id, name, description, system_prompt, model, tools, definition FROM agents WHERE id = ?`)
	sqlSetAgent = tables.Text(
		`INSERT INTO agents (id, name, description, system_prompt, model, tools, definition) VALUES (?, ?, ?, ?, ` +
			`?, ?, ?)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, description = excluded.description, system_prompt = ` +
			`excluded.system_prompt,
  model = excluded.model, tools = excluded.tools, definition = excluded.definition`)
	sqlDropAgent = tables.Text(`DELETE FROM agents WHERE id = ?`)
)
