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
	entries = `SELECT i.id, ` +
		`CASE WHEN r.id IS NOT NULL AND coalesce(p.format, 'routes') = 'routes' THEN coalesce(r.name, '')
    ELSE coalesce(p.name, d.name, '') END, coalesce(p.format, d.format, 'routes'),
  coalesce(w.published, 0), coalesce(w.draft, 0), r.id IS NOT NULL, coalesce(w.updated, 0), ` +
		`coalesce(p.labels, d.labels, '')
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
	sqlDropNodes      = tables.Text(`DELETE FROM agent_workflow_nodes WHERE "workflowId" = ?`)
	sqlDropEdges      = tables.Text(`DELETE FROM agent_workflow_edges WHERE "workflowId" = ?`)
)

// Layouts.
const (
	sqlLayout    = tables.Text(`SELECT layout FROM workflow_layouts WHERE workflow_id = ?`)
	sqlSetLayout = tables.Text(`INSERT INTO workflow_layouts (workflow_id, layout) VALUES (?, ?) ` +
		`ON CONFLICT (workflow_id) DO UPDATE SET layout = excluded.layout`)
)

// Rows.
const (
	sqlWorkflowRow = tables.Text(
		`SELECT id, name, description, "isConversational", "entrypointNodeId", routing, "humanHandoff", "maxSteps", ` +
			`"timeoutMs", agents
FROM agent_workflows WHERE id = ?`)
	sqlNodeRows = tables.Text(`SELECT id, "workflowId", "nodeType", "nodeName", "agentId", prompt
FROM agent_workflow_nodes WHERE "workflowId" = ? ORDER BY rowid`)
	sqlEdgeRows = tables.Text(`SELECT id, "workflowId", "sourceNodeId", "targetNodeId", "conditionType",
  "conditionValue"
FROM agent_workflow_edges WHERE "workflowId" = ? ORDER BY rowid`)

	sqlSetWorkflowRow = tables.Text(`INSERT INTO agent_workflows
  (id, name, description, "isConversational", "entrypointNodeId", routing, "humanHandoff", "maxSteps",
  "timeoutMs", agents)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, description = excluded.description, ` +
		`"isConversational" = excluded."isConversational",
  "entrypointNodeId" = excluded."entrypointNodeId", routing = excluded.routing, "humanHandoff" =
  excluded."humanHandoff", "maxSteps" = excluded."maxSteps",
  "timeoutMs" = excluded."timeoutMs", agents = excluded.agents`)

	// An existing row moves to the end, so that all rows of a workflow end up in the order in which
	// they are written. In PostgreSQL rowid is an identity column.
	sqlSetNodeRow = tables.Text(
		`INSERT INTO agent_workflow_nodes (id, "workflowId", "nodeType", "nodeName", "agentId", prompt)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT ("workflowId", id) DO UPDATE SET rowid = (SELECT max(rowid) + 1 FROM agent_workflow_nodes), ` +
			`"nodeType" = excluded."nodeType",
  "nodeName" = excluded."nodeName", "agentId" = excluded."agentId", prompt = excluded.prompt`)
	sqlSetNodeRowPostgres = tables.Text(
		`INSERT INTO agent_workflow_nodes (id, "workflowId", "nodeType", "nodeName", "agentId", prompt)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT ("workflowId", id) DO UPDATE SET rowid = excluded.rowid, "nodeType" = excluded."nodeType",
  "nodeName" = excluded."nodeName", "agentId" = excluded."agentId", prompt = excluded.prompt`)
	sqlSetEdgeRow = tables.Text(
		`INSERT INTO agent_workflow_edges (id, "workflowId", "sourceNodeId", "targetNodeId", "conditionType", ` +
			`"conditionValue")
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT ("workflowId", id) DO UPDATE SET rowid = (SELECT max(rowid) + 1 FROM agent_workflow_edges),
  "sourceNodeId" = excluded."sourceNodeId", "targetNodeId" = excluded."targetNodeId", ` +
			`"conditionType" = excluded."conditionType",
  "conditionValue" = excluded."conditionValue"`)
	sqlSetEdgeRowPostgres = tables.Text(
		`INSERT INTO agent_workflow_edges (id, "workflowId", "sourceNodeId", "targetNodeId", "conditionType", ` +
			`"conditionValue")
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT ("workflowId", id) DO UPDATE SET rowid = excluded.rowid,
  "sourceNodeId" = excluded."sourceNodeId", "targetNodeId" = excluded."targetNodeId", ` +
			`"conditionType" = excluded."conditionType",
  "conditionValue" = excluded."conditionValue"`)

	sqlNodeIDs  = tables.Text(`SELECT rowid, id FROM agent_workflow_nodes WHERE "workflowId" = ?`)
	sqlEdgeIDs  = tables.Text(`SELECT rowid, id FROM agent_workflow_edges WHERE "workflowId" = ?`)
	sqlDropNode = tables.Text(`DELETE FROM agent_workflow_nodes WHERE rowid = ?`)
	sqlDropEdge = tables.Text(`DELETE FROM agent_workflow_edges WHERE rowid = ?`)
)

// Agents.
const (
	sqlAgents = tables.Text(
		`SELECT id, name, description, "systemPrompt", model, tools, definition FROM agents ORDER BY id`)
	sqlAgent = tables.Text(
		`SELECT id, name, description, "systemPrompt", model, tools, definition FROM agents WHERE id = ?`)
	sqlSetAgent = tables.Text(
		`INSERT INTO agents (id, name, description, "systemPrompt", model, tools, definition) ` +
			`VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, description = excluded.description, ` +
			`"systemPrompt" = excluded."systemPrompt",
  model = excluded.model, tools = excluded.tools, definition = excluded.definition`)
	sqlDropAgent = tables.Text(`DELETE FROM agents WHERE id = ?`)
)
